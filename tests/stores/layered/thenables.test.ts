import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { gcra, limiter, memoryStore } from "../../../mod.ts";
import { denyCache, fallback, lease } from "../../../stores/layered/layered.ts";
import { away, byThenable, probe } from "./probe.ts";

const LAYERED = {
  denyCache: () => denyCache(probe(byThenable).store),
  lease: () => lease(probe(byThenable).store, { units: 2, ttl: "1m" }),
  fallback: () => fallback(probe(byThenable).store, memoryStore(), { share: 1 }),
  "fallback, to the other one": () => {
    const first = probe(byThenable);
    first.failure = away;
    return fallback(first.store, probe(byThenable).store, { share: 1 });
  },
};

describe("over a store that answers by thenables", () => {
  for (const [name, open] of Object.entries(LAYERED)) {
    test(`${name} decides`, async () => {
      const store = open();
      const algorithm = gcra({ limit: 1, period: "1h", burst: 3 });
      const api = limiter(algorithm, { store, prefix: "a", clock: () => 0 });
      const verdicts: boolean[] = [];
      for (let calls = 0; calls < 5; calls++) verdicts.push((await api.consume("k")).allowed);
      assert.deepEqual(verdicts, [true, true, true, false, false]);
      await api.refund("k");
      assert.equal((await api.consume("k")).allowed, true);
      assert.equal((await api.consume("k")).allowed, false);
      assert.equal((await api.peek("k", 0)).remaining, 0);
      const reset = (async () => await api.reset("k"))();
      if (name.endsWith("other one")) await assert.rejects(reset, away);
      else {
        await reset;
        assert.equal((await api.peek("k", 0)).remaining, 3);
      }
      await store.close();
    });
  }
});
