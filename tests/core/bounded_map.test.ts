import assert from "node:assert/strict";
import { test } from "node:test";

import { setBounded } from "../../core/bounded_map.ts";

test("setBounded forgets the oldest entry, and renews one that is set again", () => {
  const map = new Map<string, number>();
  setBounded(map, "a", 1, 2);
  setBounded(map, "b", 2, 2);
  setBounded(map, "a", 3, 2);
  setBounded(map, "a", 4, 2);
  assert.deepEqual([...map], [["b", 2], ["a", 4]]);
  setBounded(map, "c", 5, 2);
  assert.deepEqual([...map], [["a", 4], ["c", 5]]);
});
