import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import {
  addSlot,
  BOUND,
  dueAt,
  expiryQueue,
  firstSlot,
  FRESH_AT,
  freshAtOf,
  moveUp,
  refreshFirst,
  removeSlot,
  WIDTH,
} from "../../../stores/memory/expiry_queue.ts";
import { fcOptions } from "../../support/seed.ts";

const SLOTS = 24;

/** A slot comes if it is not there; otherwise its key is fresh at another instant, or it goes. */
const changes = fc.array(
  fc.record({
    slot: fc.nat({ max: SLOTS - 1 }),
    freshAt: fc.nat({ max: 1_000 }),
    goes: fc.boolean(),
  }),
  { maxLength: 150, size: "max" },
);

test("slots come to the top in the order of their instants, whichever slots are added, moved and removed", () => {
  fc.assert(
    fc.property(changes, (drawn) => {
      const queue = expiryQueue(SLOTS);
      const instants = new Map<number, number>();
      for (const { slot, freshAt, goes } of drawn) {
        const known = instants.get(slot);
        if (known === undefined) addSlot(queue, slot, freshAt);
        else if (goes) removeSlot(queue, slot);
        else {
          queue.cells[WIDTH * slot + FRESH_AT] = freshAt;
          if (freshAt < queue.cells[WIDTH * slot + BOUND]!) moveUp(queue, slot);
        }
        if (known !== undefined && goes) instants.delete(slot);
        else instants.set(slot, freshAt);
        assert.ok(dueAt(queue) <= Math.min(Infinity, ...instants.values()));
      }
      const sorted = [...instants.values()].sort((a, b) => a - b);
      assert.deepEqual(drained(), sorted);

      function drained(): number[] {
        const order: number[] = [];
        while (queue.size > 0) {
          while (refreshFirst(queue));
          const slot = firstSlot(queue);
          order.push(freshAtOf(queue, slot));
          removeSlot(queue, slot);
        }
        return order;
      }
    }),
    fcOptions({ numRuns: 200 }),
  );
});
