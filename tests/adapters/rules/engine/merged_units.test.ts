import assert from "node:assert/strict";
import { test } from "node:test";

import { gcra, memoryStore } from "../../../../mod.ts";
import { ruleEngine } from "../../../../adapters/rules/rules.ts";

test("where two descriptors share a key, their units add up and the lower limit decides", () => {
  for (const bursts of [[9, 5], [5, 9]]) {
    const engine = ruleEngine({
      store: memoryStore(),
      clock: () => 0,
      rules: {
        domain: "d",
        rules: [{ key: "user", limits: [{ limit: 9, period: "1h", burst: 9 }] }],
      },
    });
    const entries = [["user", "1"]] as const;
    const descriptors = bursts.map((burst) => ({
      entries,
      limit: gcra({ limit: 5, period: "1h", burst }),
    }));
    const consume = (cost: number) => engine.consume({ domain: "d", descriptors, cost }).allowed;
    assert.deepEqual([consume(3), consume(2), consume(1)], [false, true, false], `${bursts}`);
  }
});
