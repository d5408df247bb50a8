import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { EVERYWHERE, filesFor } from "../../.ci/divide.mjs";
import { rootPath } from "../support/tree.ts";

test("each file runs on one runtime, with the next seeds on the others, and some on all", () => {
  const files = [
    "./tests/runtime.test.ts",
    ..."abcdefg".split("").map((name) => `./${name}.test.ts`),
  ];
  for (const seed of [5, 6, 7]) {
    const lists = [0, 1, 2].map((place) => filesFor(files, seed + place, 3));
    assert.deepEqual(lists.flat().sort(), [files[0], files[0], ...files].sort());
  }
  for (const place of [0, 1, 2]) {
    const lists = [5, 6, 7].map((seed) => filesFor(files, seed + place, 3));
    assert.deepEqual([...new Set(lists.flat())].sort(), [...files].sort());
  }
  assert.deepEqual(filesFor(files, 9, 1), files);
});

test("what runs on all runtimes is there", () => {
  assert.deepEqual(EVERYWHERE.filter((place) => !existsSync(join(rootPath, place))), []);
});
