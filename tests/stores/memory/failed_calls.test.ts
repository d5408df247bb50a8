import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { consume } from "../../../core/verbs/consume.ts";
import { peek } from "../../../core/verbs/peek.ts";
import {
  acquire,
  type Algorithm,
  type Decision,
  gcra,
  limiter,
  memoryStore,
  type SyncStore,
} from "../../../mod.ts";

const sound = gcra({ limit: 5, period: "1m", burst: 5 }) as Algorithm;
const now = 1_790_000_000_000;

/** An algorithm of somebody's own, which answers with what `change` makes of a decision. */
function ownAlgorithm(change: (decision: Decision) => Decision, id = "own"): Algorithm {
  return {
    ...sound,
    id,
    internals: undefined,
    step(state, now, cost) {
      const [decision, next] = sound.step(state, now, cost);
      return [change(decision), next];
    },
  };
}

function remaining(store: SyncStore, algorithm: Algorithm): number {
  const family = store.open({ prefix: "api", algorithm, older: [] });
  return family.bind(peek).call("key", 0, now).remaining;
}

describe("a call that throws changes nothing", () => {
  for (const parts of [null, [undefined], [{ parts: [undefined] }]] as unknown[]) {
    test(`a batch, whose second decision has the parts ${JSON.stringify(parts)}`, () => {
      const store = memoryStore();
      const odd = ownAlgorithm((decision) => ({ ...decision, parts: parts as Decision["parts"] }));
      const nested: Algorithm = { ...sound, internals: { parts: [sound] } };
      const withParts: Algorithm = { ...odd, internals: { parts: [nested] } };
      const operations = [sound, withParts].map((algorithm) => ({
        bound: store.open({ prefix: "api", algorithm, older: [] }).bind(consume),
        key: "key",
        argument: 1,
      }));
      assert.throws(() => store.run(operations, now), TypeError);
      assert.deepEqual([sound, odd].map((each) => remaining(store, each)), [5, 5]);
    });
  }

  test("a key that would take over keeps its use under the older options", () => {
    const store = memoryStore();
    let fails = false;
    const own = ownAlgorithm((decision) => {
      if (fails) throw new Error("no decision");
      return decision;
    });
    const options = { store, prefix: "api", clock: () => now };
    const api = limiter(own, { ...options, replaces: { algorithm: sound, mode: "keep" } });
    limiter(sound, options).consume("key", 4);
    fails = true;
    assert.throws(() => api.consume("key"), /no decision/);
    fails = false;
    assert.equal(api.consume("key", 0).remaining, 1);
  });

  test("a batch with a bad cost lets no key take over", () => {
    const store = memoryStore();
    const algorithm = gcra({ limit: 7, period: "1m", burst: 7 }) as Algorithm;
    const older = [{ algorithm: sound, mode: "keep" as const }];
    const bound = store.open({ prefix: "api", algorithm, older }).bind(consume);
    limiter(sound, { store, prefix: "api", clock: () => now }).consume("key", 4);
    const operations = [1, -1].map((argument) => ({ bound, key: `key${argument}`, argument }));
    operations[0]!.key = "key";
    assert.throws(() => store.run(operations, now), RangeError);
    assert.equal(remaining(store, sound), 1);
    assert.equal(remaining(store, algorithm), 7);
  });
});

test("a closed store resets no key, and whoever waits hears that it is closed", async () => {
  const store = memoryStore();
  const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), { store, prefix: "api" });
  api.consume("key");
  const waits = [1, 2].map(() => acquire(api, "key"));
  store.close();
  for (const wait of waits) await assert.rejects(wait, { name: "StoreUnavailableError" });
  assert.throws(() => api.reset("key"), { name: "StoreUnavailableError" });
  assert.throws(() => api.resetPrefix(), { name: "StoreUnavailableError" });
  store.close();
});
