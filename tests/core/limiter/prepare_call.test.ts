import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { internalsOf } from "../../../core/limiter/limiter.ts";
import { prepareCall } from "../../../core/limiter/prepare_call.ts";
import { withoutRefunds } from "../../../core/limiter/wrapped_algorithm.ts";
import { type Algorithm, gcra, limiter, memoryStore, type Store } from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";

const algorithm = gcra({ limit: 5, period: "1m" }) as Algorithm;
const old = gcra({ limit: 9, period: "1m" }) as Algorithm;
const replaces = { algorithm: old, mode: "keep" } as const;
const now = 5_000;

/** Stores that have no prepared call, have one, and answer by promises. */
const STORES: Readonly<Record<string, () => Store>> = {
  "without a call of its own": () => ({ ...memoryStore(), internals: undefined }),
  "with a call of its own": memoryStore,
  "that answers by promises": asyncMemoryStore,
};

for (const [kind, make] of Object.entries(STORES)) {
  describe(`prepareCall on a store ${kind}`, () => {
    test("decides, looks and runs another algorithm on the same key", async () => {
      const { decide, run, operation } = prepareCall(make(), "p", algorithm);
      assert.equal((await decide("a", 2, false, now)).remaining, 3);
      assert.equal((await decide("a", 9, true, now)).allowed, false);
      assert.equal((await run("a", withoutRefunds(algorithm), -2, now)).remaining, 3);
      assert.equal((await run("a", algorithm, -2, now)).remaining, 5);
      assert.deepEqual([operation("a", 1).replaces, operation("a", 1).cost], [undefined, 1]);
    });

    test("carries over what a key had used, and forgets both", async () => {
      const store = make();
      const before = prepareCall(store, "p", old);
      const { decide, delete: forget } = prepareCall(store, "p", algorithm, replaces);
      await before.decide("a", 2, false, now);
      assert.equal((await decide("a", 1, false, now)).remaining, 2);
      await before.decide("a", 4, false, now);
      await forget("a");
      assert.equal((await decide("a", 0, true, now)).remaining, 5);
      assert.equal((await before.decide("a", 0, true, now)).remaining, 9);
    });
  });
}

test("a key is stored as the store names it", () => {
  const store = memoryStore();
  assert.equal(prepareCall(store, "p", algorithm).storedKey("a"), `p:{a}:${algorithm.id}`);
  const named = { ...store, internals: { keyOf: (...words: string[]) => words.join("|") } };
  assert.equal(prepareCall(named, "p", algorithm).storedKey("a"), `p|${algorithm.id}|a`);
});

test("a limiter's internals run another algorithm at the limiter's instant", async () => {
  const api = limiter(algorithm, { clock: () => now });
  api.consume("a", 3);
  const { run } = internalsOf(api)!;
  assert.equal((await run("a", withoutRefunds(algorithm), -1)).remaining, 2);
  assert.equal((await run("a", algorithm, -1)).resetAfter, 24_000);
});
