import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type AsyncLimiter,
  type AsyncStore,
  consumeAll,
  type Decision,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
  type Period,
  type Store,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";

type Same<One, Other> = [One, Other] extends [Other, One] ? true : never;

const algorithm = gcra({ limit: 2, period: "1m" });

test("a limiter's type says whether its store answers at once", async () => {
  const stores: readonly Store[] = [memoryStore(), asyncMemoryStore()];
  for (const store of stores) {
    const either = limiter(algorithm, { store, prefix: "a" });
    const isEither: Same<typeof either, Limiter | AsyncLimiter> = true;
    const decision: Decision | Promise<Decision> = consumeAll([{ limiter: either, key: "key" }]);
    assert.deepEqual([isEither, (await decision).remaining], [true, 1]);
  }
  const asyncStore: AsyncStore = asyncMemoryStore();
  const types: readonly true[] = [
    true satisfies Same<ReturnType<typeof ofOwn>, Limiter>,
    true satisfies Same<ReturnType<typeof onSync>, Limiter>,
    true satisfies Same<ReturnType<typeof onAsync>, AsyncLimiter>,
  ];
  function ofOwn() {
    return limiter(algorithm, { maxWaiting: 1 });
  }
  function onSync() {
    return limiter(algorithm, { store: memoryStore(), prefix: "a" });
  }
  function onAsync() {
    return limiter(algorithm, { store: asyncStore, prefix: "a" });
  }
  assert.deepEqual(types, [true, true, true]);
});

test("a store without a prefix is a type error, too", () => {
  // @ts-expect-error: it would share counters by accident
  assert.throws(() => limiter(algorithm, { store: memoryStore() }), TypeError);
  // @ts-expect-error: it would share counters by accident
  assert.throws(() => limiter(algorithm, { store: asyncMemoryStore() }), TypeError);
});

test("a period that is no whole number of a unit is a type error, too", () => {
  const periods: readonly Period[] = ["1s", "10s", "105s", "1005ms", "100000ms", "3600000ms", "1d"];
  for (const period of periods) gcra({ limit: 1, period });
  // @ts-expect-error: a fraction
  assert.throws(() => gcra({ limit: 1, period: "1.5s" }), RangeError);
  // @ts-expect-error: below 0
  assert.throws(() => gcra({ limit: 1, period: "-1s" }), RangeError);
  // @ts-expect-error: no unit
  assert.throws(() => gcra({ limit: 1, period: "10" }), RangeError);
});
