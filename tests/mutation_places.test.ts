import assert from "node:assert/strict";
import { test } from "node:test";

import { FAULTS } from "./mutation/faults.ts";
import { readText } from "./support/tree.ts";

test("every fault that the laws are tried on has its place in the code, just once", () => {
  const lost = FAULTS.filter(({ file, search }) => readText(file).split(search).length !== 2);
  assert.deepEqual(lost.map(({ file, search }) => `${file}: ${search}`), []);
});
