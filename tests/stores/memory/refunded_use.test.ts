import assert from "node:assert/strict";
import { test } from "node:test";

import { fixedWindow, gcra, limiter, lockout, memoryStore } from "../../../mod.ts";

for (
  const algorithm of [
    fixedWindow({ limit: 8, period: "1h" }),
    gcra({ limit: 8, period: "1h", burst: 8 }),
    lockout({ limit: 8, period: "1h", lock: "1h" }),
  ]
) {
  test(`${algorithm.id}: a key whose units were given back goes before one with more use`, () => {
    const clock = () => 1_790_000_000_000;
    // Chance may find an outdated level, but not in each of that many stores.
    for (let round = 0; round < 30; round++) {
      const api = limiter(algorithm, { store: memoryStore({ maxKeys: 2 }), prefix: "p", clock });
      api.consume("refunded", 7);
      api.consume("other", 3);
      api.refund("refunded", 6);
      api.consume("new");
      assert.equal(api.peek("other", 0).remaining, 5);
    }
  });
}
