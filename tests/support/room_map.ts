/*
 * The picture in ARCHITECTURE.md: the rooms of the tree and the imports between them, as a diagram
 * that GitHub draws. `npm run map` writes it; a test compares.
 */

import { APPLICATIONS } from "./architecture.ts";
import { targetsOf } from "./imports.ts";
import type { SourceFile } from "./tree.ts";

/** The places whose files the map shows. */
export const MAPPED: readonly string[] = ["mod.ts", "core", "stores", "adapters"];

/** The boxes that rooms are drawn in; `mod.ts` stands alone. */
const GROUPS = ["applications", "adapters", "stores", "core"] as const;

const MARKED_REGEXP = /(<!-- map -->\n)[\s\S]*?(<!-- end of map -->)/;

/** The room of a file: its folder below the top one, or the top one for files right inside it. */
export function roomOf(path: string): string {
  return path.split("/").slice(0, -1).slice(0, 2).join("/") || path;
}

/**
 * The diagram. All that a group imports of core is one arrow, because nearly all of its rooms
 * import core.
 */
export function roomMap(files: readonly SourceFile[]): string {
  const rooms = [...new Set(files.map(({ path }) => roomOf(path)))].sort();
  const nodesOf = (group: string | undefined) =>
    rooms.filter((room) => groupOf(room) === group).map(nodeOf);
  const groups = GROUPS.flatMap((group) => [
    `  subgraph ${group}_rooms["${group}"]`,
    ...nodesOf(group).map((node) => `  ${node}`),
    "  end",
  ]);
  return ["```mermaid", "flowchart TD", ...nodesOf(undefined), ...groups, ...arrowsOf(files), "```"]
    .join("\n");
}

/** The page with the diagram between its markers. */
export function withRoomMap(page: string, map: string): string {
  if (!MARKED_REGEXP.test(page)) {
    throw new Error(
      'Cannot write the map as "<!-- map -->" and "<!-- end of map -->" must be there',
    );
  }
  return page.replace(MARKED_REGEXP, (_all, start, end) => `${start}\n${map}\n\n${end}`);
}

function arrowsOf(files: readonly SourceFile[]): string[] {
  const pairs = files.flatMap((file) =>
    targetsOf(file).map((target) => endsOf(roomOf(file.path), roomOf(target)))
  );
  const drawn = new Set(pairs.filter(([from, to]) => from !== to).map((ends) => ends.join(" ")));
  return [...drawn].sort().flatMap((pair) => {
    const [from, to] = pair.split(" ") as [string, string];
    const isMutual = drawn.has(`${to} ${from}`);
    return isMutual && from > to ? [] : [`  ${from} ${isMutual ? "<-->" : "-->"} ${to}`];
  });
}

/** The two shapes that an import between two rooms connects. */
function endsOf(from: string, to: string): readonly [from: string, to: string] {
  const group = groupOf(from);
  if (groupOf(to) !== "core" || group === "core") return [idOf(from), idOf(to)];
  return [group === undefined ? idOf(from) : `${group}_rooms`, "core_rooms"];
}

function groupOf(room: string): string | undefined {
  if (APPLICATIONS.includes(`${room}/`)) return "applications";
  return GROUPS.find((group) => room.split("/")[0] === group);
}

function idOf(room: string): string {
  return room.replaceAll(/\W/g, "_");
}

function nodeOf(room: string): string {
  const [top, inner] = room.split("/");
  return `  ${idOf(room)}["${inner ?? (room.endsWith(".ts") ? room : `${top}/*.ts`)}"]`;
}
