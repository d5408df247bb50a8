import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import {
  allSlots,
  emptyTable,
  forgetKey,
  isEmpty,
  keepKey,
  slotOf,
} from "../../../stores/memory/table.ts";
import { fcOptions } from "../../support/seed.ts";

test("a table of several maps acts as one map, and none of them exceeds its bound", () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 20 })), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (steps) => {
      const table = emptyTable("family", true, undefined, 0, 3);
      const model = new Map<string, number>();
      for (const [index, [adds, name]] of steps.entries()) {
        const key = `key ${name}`;
        assert.equal(slotOf(table, key), model.get(key));
        if (model.has(key)) {
          model.delete(key);
          forgetKey(table, key);
        } else if (adds) {
          model.set(key, index);
          keepKey(table, key, index);
        }
        assert.equal(isEmpty(table), model.size === 0);
        assert.deepEqual(allSlots(table).sort(), [...model.values()].sort());
        for (const map of table.maps) assert.ok(map.size <= 3);
      }
    }),
    fcOptions(),
  );
});
