import assert from "node:assert/strict";
import { test } from "node:test";
import { ledger } from "../../../adapters/testing/testing.ts";

test("a ledger gives back the newest units first", () => {
  const book = ledger();
  book.enter(10, 3);
  book.enter(20, 2);
  book.enter(25, -4);
  assert.deepEqual(book.entries, [{ at: 10, units: 1 }]);
});

test("a ledger attributes a call from before the newest entry to that entry's instant", () => {
  const book = ledger();
  book.enter(20, 1);
  book.enter(10, 1);
  assert.deepEqual(book.entries, [{ at: 20, units: 1 }, { at: 20, units: 1 }]);
});

test("a ledger starts anew when the clock steps behind what was given back", () => {
  const book = ledger();
  book.enter(10, 1);
  book.enter(20, 1);
  book.enter(15, -1);
  book.enter(15, 1);
  assert.deepEqual(book.entries, [{ at: 15, units: 1 }]);
});

test("a ledger gives back no more than it holds", () => {
  const book = ledger();
  book.enter(10, 1);
  book.enter(10, -5);
  book.enter(30, 2);
  assert.deepEqual(book.entries, [{ at: 30, units: 2 }]);
});
