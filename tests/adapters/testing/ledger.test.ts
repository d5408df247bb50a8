import assert from "node:assert/strict";
import { test } from "node:test";
import { ledger } from "../../../adapters/testing/testing.ts";

type Units = readonly (readonly [at: number, units: number])[];

/** The entries that are made, and those that are left. */
const rows: Readonly<Record<string, readonly [entered: Units, left: Units]>> = {
  "gives back the newest units first": [[[10, 3], [20, 2], [25, -4]], [[10, 1]]],
  "attributes a call from before the newest entry to that entry's instant": [
    [[20, 1], [10, 1]],
    [[20, 1], [20, 1]],
  ],
  "starts anew when the clock steps behind what was given back": [
    [[10, 1], [20, 1], [15, -1], [15, 1]],
    [[15, 1]],
  ],
  "gives back no more than it holds": [[[10, 1], [10, -5], [30, 2]], [[30, 2]]],
};

for (const [name, [entered, left]] of Object.entries(rows)) {
  test(`a ledger ${name}`, () => {
    const book = ledger();
    for (const [at, units] of entered) book.enter(at, units);
    assert.deepEqual(book.entries, left.map(([at, units]) => ({ at, units })));
  });
}
