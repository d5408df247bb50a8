import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { LEVELS } from "../../../core/arithmetic/fresh_instant.ts";
import {
  addToLevel,
  anySlot,
  growLevels,
  moveToLevel,
  removeFromLevel,
  slotOfLowest,
  useLevels,
} from "../../../stores/memory/use_levels.ts";
import { fcOptions } from "../../support/seed.ts";

test("slots are in the order of their levels, whichever slots are added, removed and moved", () => {
  const steps = fc.array(fc.tuple(fc.nat(30), fc.nat(LEVELS - 1), fc.boolean()), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, (steps) => {
      const use = useLevels(16);
      growLevels(use, 31);
      const model = new Map<number, number>();
      for (const [slot, level, removes] of steps) {
        if (!model.has(slot)) addToLevel(use, slot, level);
        else if (removes) removeFromLevel(use, slot);
        else moveToLevel(use, slot, level);
        if (model.has(slot) && removes) model.delete(slot);
        else model.set(slot, level);

        const order = [...use.order.subarray(0, use.ends[0])];
        assert.deepEqual([...order].sort(), [...model.keys()].sort());
        assert.deepEqual(
          order.map((held) => model.get(held)),
          [...model.values()].sort((a, b) => b - a),
        );
        order.forEach((held, rank) => assert.equal(use.ranks[held], rank));
        if (model.size === 0) continue;
        assert.equal(model.get(slotOfLowest(use)), Math.min(...model.values()));
        assert.ok(model.has(anySlot(use)));
      }
    }),
    fcOptions(),
  );
});
