import assert from "node:assert/strict";
import { test } from "node:test";

import { exists, readText } from "../support/tree.ts";
import { FAULTS } from "./faults.ts";
import { catchersOf, nearestTests, page } from "./tests_of.ts";

test("every fault that the laws are tried on has its place in the code, just once", () => {
  const lost = FAULTS.filter(({ file, search }) => readText(file).split(search).length !== 2);
  assert.deepEqual(lost.map(({ file, search }) => `${file}: ${search}`), []);
});

test("the tests that catch faults are there, and the page names them (npm run tests-of)", () => {
  assert.deepEqual([...catchersOf(FAULTS).keys()].filter((file) => !exists(file)), []);
  assert.equal(readText("docs/internals/mutation.md"), page(FAULTS));
});

test("the tests nearest to a file are those with the fewest imports between, its mirror first", () => {
  const files = [
    { path: "core/a.ts", text: "" },
    { path: "core/b.ts", text: 'import { a } from "./a.ts";' },
    { path: "tests/x.test.ts", text: 'import { b } from "../core/b.ts";' },
    { path: "tests/core/b.test.ts", text: 'import { b } from "../../core/b.ts";' },
    { path: "tests/y.test.ts", text: 'import "./x.test.ts";' },
  ];
  assert.deepEqual(nearestTests("core/a.ts", files), ["tests/core/b.test.ts", "tests/x.test.ts"]);
  assert.deepEqual(nearestTests("core/none.ts", files), []);
});
