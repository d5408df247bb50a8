import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { gcra, StoreFullError } from "../../../mod.ts";
import { BOUND, WIDTH } from "../../../stores/memory/expiry_queue.ts";
import { addKey, replaceState } from "../../../stores/memory/keep_state.ts";
import { openSlots, tableOf } from "../../../stores/memory/slots.ts";

const KEYS = 20_000;

/** Slots of many keys, all of them called again since they were queued. */
function outdated(maxKeys: number) {
  const slots = openSlots({ maxKeys, maxBytes: 2 ** 30, onFull: "evict" });
  const table = tableOf(slots, "family", gcra({ limit: 1, period: 1, burst: 1 }));
  for (let key = 0; key < KEYS; key++) addKey(slots, table, `key ${key}`, 1, 1_000, 0);
  for (let slot = 0; slot < KEYS; slot++) replaceState(slots, table, slot, 2, 900_000, 0);

  /** How many keys one call moved in the queue. */
  function movedBy(call: () => void): number {
    const bounds = () =>
      Array.from({ length: KEYS }, (_, s) => slots.queue.cells[WIDTH * s + BOUND]);
    const before = bounds();
    call();
    return bounds().filter((bound, slot) => bound !== before[slot]).length;
  }
  return { slots, table, movedBy };
}

describe("one call mends a few bounds, however many are outdated", () => {
  test("while it looks for keys to drop", () => {
    const { slots, table, movedBy } = outdated(KEYS);
    const moved = movedBy(() => replaceState(slots, table, 0, 3, 900_000, 100_000));
    assert.ok(moved <= 8, `${moved} were mended`);
  });

  test("while it makes room for a new key", () => {
    const { slots, table, movedBy } = outdated(KEYS);
    const moved = movedBy(() => addKey(slots, table, "new", 1, 900_001, 500));
    assert.ok(moved <= 9, `${moved} were mended`); // and that of the new key
  });
});

test("a fresh key behind many that are outdated is found within a few calls", () => {
  const slots = openSlots({ maxKeys: 100, maxBytes: 2 ** 30, onFull: "throw" });
  const table = tableOf(slots, "family", gcra({ limit: 1, period: 1, burst: 1 }));
  addKey(slots, table, "fresh", 1, 1_001, 0);
  for (let key = 1; key < 100; key++) addKey(slots, table, `key ${key}`, 1, 1_000, 0);
  for (let slot = 1; slot < 100; slot++) replaceState(slots, table, slot, 2, 900_000, 0);
  let refused = 0;
  while (!table.slots.has("new")) {
    try {
      addKey(slots, table, "new", 1, 900_000, 2_000);
    } catch (error) {
      assert.ok(error instanceof StoreFullError);
      refused++;
    }
  }
  assert.ok(refused <= 100 / 8, `${refused} calls were refused`);
  assert.equal(table.slots.has("fresh"), false);
});
