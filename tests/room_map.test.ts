import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { MAPPED, roomMap, roomOf, withRoomMap } from "./support/room_map.ts";
import { filesOf, readText } from "./support/tree.ts";

const files = filesOf(MAPPED, ".ts");
const page = readText("ARCHITECTURE.md");

describe("the map in ARCHITECTURE.md", () => {
  test("shows the rooms and imports that there are (npm run map)", () => {
    assert.equal(page, withRoomMap(page, roomMap(files)));
  });

  test("is followed by a line about each room", () => {
    const rooms = [...new Set(files.map(({ path }) => roomOf(path)))];
    assert.deepEqual(rooms.filter((room) => !page.includes(`\n| \`${room}\``)), []);
  });

  test("draws an import between rooms, one both ways, and imports of core once for a group", () => {
    const map = roomMap([
      { path: "mod.ts", text: 'export { a } from "./core/algorithms/a.ts";' },
      { path: "core/algorithms/a.ts", text: 'import type { B } from "../b.ts";' },
      { path: "core/b.ts", text: 'import { c } from "./algorithms/c.ts";' },
      { path: "core/algorithms/c.ts", text: 'import { a } from "./a.ts";' },
      { path: "stores/x/y/d.ts", text: 'import { b } from "../../../core/b.ts";' },
      { path: "adapters/service/e.ts", text: 'const d = await import("../../stores/x/y/d.ts");' },
    ]);
    assert.deepEqual(map.split("\n").filter((line) => line.includes("--")), [
      "  adapters_service --> stores_x",
      "  core <--> core_algorithms",
      "  mod_ts --> core_rooms",
      "  stores_rooms --> core_rooms",
    ]);
  });

  test("is not written into a page without its markers", () => {
    assert.throws(() => withRoomMap("# Architecture\n", roomMap([])), /must be there/);
  });
});
