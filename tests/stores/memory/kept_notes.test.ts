import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { all, consumeAll, gcra, limiter, memoryStore } from "../../../mod.ts";

const RATE = { limit: 100, period: 100_000, burst: 30 } as const;
const ALGORITHMS = { gcra: gcra(RATE), all: all(gcra(RATE), gcra({ ...RATE, burst: 31 })) };

describe("a key whose units were given back by their time to live", () => {
  const cases = Object.entries(ALGORITHMS).flatMap(([name, algorithm]) =>
    [false, true].map((inBatch) => ({ name, algorithm, inBatch }))
  );
  for (const { name, algorithm, inBatch } of cases) {
    const by = inBatch ? ", written by a batch" : "";
    test(`stays for as long as receipts of other calls need its notes: ${name}${by}`, () => {
      let now = 1_000_000;
      const store = memoryStore();
      const api = limiter(algorithm, { store, prefix: "api", clock: () => now });
      api.reserve("key", 10, { ttl: 1_000 });
      const { receipt } = api.reserve("key", 10);
      now += 2_000;
      // The first ten have come back by now.
      if (inBatch) consumeAll([{ limiter: api, key: "key" }, { limiter: api, key: "beside" }]);
      else api.consume("key");
      now += 15_000; // the second ten have drained, and a fresh key would be forgotten
      for (let other = 0; other < 20; other++) api.consume(`other ${other}`);
      api.consume("key", 10);
      assert.equal(api.refund("key", receipt!).returned, 0);
    });
  }
});
