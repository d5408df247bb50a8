// The picture in ARCHITECTURE.md: the rooms of the tree and the imports between them, as a diagram
// that GitHub draws. `npm run map` writes it; a test compares.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

import { targetsOf } from "./imports.mjs";

/** @typedef {import("./imports.mjs").Source} Source */

const root = new URL("../", import.meta.url);
const MARKED_REGEXP = /(<!-- map -->\n)[\s\S]*?(<!-- end of map -->)/;

/** The places whose files are drawn. */
export const MAPPED = /** @type {const} */ (["mod.ts", "core", "stores", "adapters"]);

/** Applications use the library as strangers do, and are drawn apart from the other adapters. */
export const APPLICATIONS = /** @type {readonly string[]} */ ([
  "adapters/service",
  "adapters/replay",
  "adapters/command",
]);

const GROUPS = /** @type {const} */ (["applications", "adapters", "stores", "core"]);

/**
 * The room of a file: the folder below the top one, or the top one for files right inside it.
 * @param {string} path
 */
export function roomOf(path) {
  return path.split("/").slice(0, -1).slice(0, 2).join("/") || path;
}

/**
 * The diagram. What other groups import of core is one arrow from the group, as all rooms do.
 * @param {readonly Source[]} sources
 */
export function mapOf(sources) {
  const rooms = [...new Set(sources.map(({ path }) => roomOf(path)))].sort();
  const grouped = GROUPS.flatMap((group) => [
    `  subgraph ${group}_rooms["${group}"]`,
    ...rooms.filter((room) => groupOf(room) === group).map((room) => `    ${nodeOf(room)}`),
    "  end",
  ]);
  const outside = rooms.filter((room) => groupOf(room) === undefined).map((room) =>
    `  ${nodeOf(room)}`
  );
  return ["```mermaid", "flowchart TD", ...outside, ...grouped, ...arrowsOf(sources), "```"]
    .join("\n");
}

/**
 * The page with the diagram between its markers.
 * @param {string} page
 * @param {string} map
 */
export function withMap(page, map) {
  if (!MARKED_REGEXP.test(page)) {
    throw new Error(
      'Cannot write the map as "<!-- map -->" and "<!-- end of map -->" must be there',
    );
  }
  return page.replace(MARKED_REGEXP, (_all, before, after) => `${before}\n${map}\n\n${after}`);
}

/** @param {readonly Source[]} sources */
function arrowsOf(sources) {
  const pairs = new Set(
    sources.flatMap((source) =>
      targetsOf(source).map((target) => endsOf(roomOf(source.path), roomOf(target)).join(" "))
    ),
  );
  const arrows = [...pairs].sort().map((pair) => /** @type {[string, string]} */ (pair.split(" ")));
  return arrows
    .filter(([from, to]) => from !== to && !(from > to && pairs.has(`${to} ${from}`)))
    .map(([from, to]) => `  ${from} ${pairs.has(`${to} ${from}`) ? "<-->" : "-->"} ${to}`);
}

/**
 * Between which two shapes of the picture an import is drawn.
 * @param {string} from
 * @param {string} to
 */
function endsOf(from, to) {
  const group = groupOf(from);
  if (groupOf(to) !== "core" || group === "core") return [idOf(from), idOf(to)];
  return [group === undefined ? idOf(from) : `${group}_rooms`, "core_rooms"];
}

/** @param {string} room */
function groupOf(room) {
  if (APPLICATIONS.includes(room)) return "applications";
  return GROUPS.find((group) => room.split("/")[0] === group);
}

/** @param {string} room */
function idOf(room) {
  return room.replaceAll(/\W/g, "_");
}

/** @param {string} room */
function nodeOf(room) {
  const [top = "", inner] = room.split("/");
  return `${idOf(room)}["${inner ?? (room.endsWith(".ts") ? room : `${top}/*.ts`)}"]`;
}

/** @returns {Source[]} */
function readSources() {
  return MAPPED.flatMap((place) => place.endsWith(".ts") ? [place] : pathsUnder(place))
    .map((path) => ({ path, text: readFileSync(new URL(path, root), "utf8") }));
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function pathsUnder(folder) {
  return readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = new URL("ARCHITECTURE.md", root);
  writeFileSync(page, withMap(readFileSync(page, "utf8"), mapOf(readSources())));
}
