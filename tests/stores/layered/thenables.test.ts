import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  type AsyncStore,
  gcra,
  limiter,
  memoryStore,
  StoreUnavailableError,
} from "../../../mod.ts";
import { denyCache, fallback, lease } from "../../../stores/layered/layered.ts";

/** A promise of no class that the runtime knows, as of another library or realm. */
function thenable<Value>(make: () => Value): Promise<Value> {
  const then: Promise<Value>["then"] = (...next) => Promise.resolve().then(make).then(...next);
  return { then } as Promise<Value>;
}

/** A store that answers by thenables: by prepared calls, too, or by `run` alone. */
function thenableStore(prepares: boolean, failure?: Error): AsyncStore {
  const store = memoryStore();
  function answer<Value>(make: () => Value): Promise<Value> {
    return thenable(() => {
      if (failure !== undefined) throw failure;
      return make();
    });
  }
  return {
    run: (operations, now) => answer(() => store.run(operations, now)),
    accepts: (algorithm) => store.accepts(algorithm),
    delete: (key) => answer(() => store.delete(key)),
    close: () => thenable(() => store.close()),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    internals: {
      prepare: !prepares ? undefined : (prefix, algorithm) => {
        const decide = store.internals!.prepare!(prefix, algorithm);
        return (...call) => answer(() => decide(...call));
      },
    },
  };
}

const away = new StoreUnavailableError("Cannot decide", "no");

const LAYERED: readonly (readonly [string, (prepares: boolean) => AsyncStore])[] = [
  ["denyCache", (prepares) => denyCache(thenableStore(prepares))],
  ["lease", (prepares) => lease(thenableStore(prepares), { units: 2, ttl: "1m" })],
  ["fallback", (prepares) => fallback(thenableStore(prepares), memoryStore(), { share: 1 })],
  [
    "fallback, to the other one",
    (prepares) => fallback(thenableStore(prepares, away), thenableStore(prepares), { share: 1 }),
  ],
];

describe("over a store that answers by thenables", () => {
  for (const [name, open] of LAYERED) {
    for (const prepares of [true, false]) {
      test(`${name} decides, by ${prepares ? "prepared calls" : "run"}`, async () => {
        const store = open(prepares);
        const algorithm = gcra({ limit: 1, period: "1h", burst: 3 });
        const api = limiter(algorithm, { store, prefix: "a", clock: () => 0 });
        const verdicts: boolean[] = [];
        for (let calls = 0; calls < 5; calls++) verdicts.push((await api.consume("k")).allowed);
        assert.deepEqual(verdicts, [true, true, true, false, false]);
        await api.refund("k");
        assert.equal((await api.consume("k")).allowed, true);
        assert.equal((await api.consume("k", 1)).allowed, false);
        assert.equal((await api.peek("k", 0)).remaining, 0);
        if (name.endsWith("other one")) await assert.rejects(api.reset("k"), away);
        else {
          await api.reset("k");
          assert.equal((await api.peek("k", 0)).remaining, 3);
        }
        await store.close();
      });
    }
  }
});
