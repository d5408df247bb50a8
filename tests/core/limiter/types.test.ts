import assert from "node:assert/strict";
import { test } from "node:test";

import {
  acquire,
  all,
  type AsyncLimiter,
  type AsyncStore,
  block,
  blockable,
  concurrency,
  consumeAll,
  type Decision,
  gcra,
  hold,
  type Limiter,
  limiter,
  type MemoryStore,
  memoryStore,
  parsePeriod,
  type Period,
  reservable,
  reserve,
  type Store,
  type SyncStore,
  unblock,
  withPermit,
} from "../../../mod.ts";
import { denyCache, lease } from "../../../stores/layered/layered.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";

type Same<One, Other> = [One, Other] extends [Other, One] ? true : never;

const algorithm = gcra({ limit: 2, period: "1m", burst: 2 });

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
    true satisfies Same<ReturnType<typeof ofOwn>, Limiter<MemoryStore>>,
    true satisfies Same<ReturnType<typeof onSync>, Limiter<MemoryStore>>,
    true satisfies Same<ReturnType<typeof onAnySync>, Limiter>,
    true satisfies Same<ReturnType<typeof onAsync>, AsyncLimiter>,
  ];
  function ofOwn() {
    return limiter(algorithm, { maxWaiting: 1 });
  }
  function onSync() {
    return limiter(algorithm, { store: memoryStore(), prefix: "a" });
  }
  function onAnySync() {
    return limiter(algorithm, { store: memoryStore() as SyncStore, prefix: "a" });
  }
  function onAsync() {
    return limiter(algorithm, { store: asyncStore, prefix: "a" });
  }
  assert.deepEqual(types, [true, true, true, true]);
});

test("a limiter's store has the methods of its own, and so has a store made of it", () => {
  const own = limiter(algorithm);
  own.consume("key");
  assert.equal(own.store.statistics().keys, 1);

  const store = denyCache(lease(memoryStore({ maxKeys: 7 }), { units: 2, ttl: 50 }));
  assert.equal(limiter(algorithm, { store, prefix: "a" }).store.statistics().maxKeys, 7);
});

test("a store that answers at once can be used with using", () => {
  const closed: string[] = [];
  const stores = [memoryStore(), denyCache(memoryStore())];
  for (const store of stores) {
    const api = limiter(algorithm, { store, prefix: "a" });
    api.consume("key");
    store[Symbol.dispose]();
    assert.throws(() => api.consume("other"), (error: Error) => closed.push(error.name) > 0);
  }
  assert.deepEqual(closed, ["StoreUnavailableError", "StoreUnavailableError"]);
});

test("a period is parsed from any text", () => {
  const texts: readonly string[] = ["500ms", "100000000ms", "1d"];
  assert.deepEqual(texts.map(parsePeriod), [500, 100_000_000, 86_400_000]);
  for (const text of ["", "1 day", "0s", "1.5s", 0, NaN]) {
    assert.throws(
      () => parsePeriod(text),
      /^RangeError: Cannot parse a period as it must be whole/,
    );
  }
  assert.throws(() => parsePeriod(undefined as unknown as string), TypeError);
});

test("a cost that is not a number is a TypeError that says so", async () => {
  const api = limiter(algorithm);
  for (const cost of ["1", 1n, null, {}] as unknown as readonly number[]) {
    for (const call of ["consume", "peek", "refund", "charge"] as const) {
      const fault = new RegExp(`^TypeError: Cannot ${call} as cost must be an integer of at least`);
      assert.throws(() => api[call]("key", cost), fault);
    }
    await assert.rejects(
      acquire(api, "key", { cost }),
      /^TypeError: Cannot acquire as cost must be an integer of at least 0/,
    );
    assert.throws(() => algorithm.step(0, 0, cost), /^TypeError: Cannot step as cost must be/);
  }
  assert.throws(() => api.consume("key", 1.5), RangeError);
  assert.equal(api.peek("key", 0).remaining, 2);
});

test("a store without a prefix is a type error, too", () => {
  // @ts-expect-error: it would share counters by accident
  assert.throws(() => limiter(algorithm, { store: memoryStore() }), TypeError);
  // @ts-expect-error: it would share counters by accident
  assert.throws(() => limiter(algorithm, { store: asyncMemoryStore() }), TypeError);
});

test("a period that is no whole number of a unit is a type error, too", () => {
  const periods: readonly Period[] = [
    "1s",
    "10s",
    "105s",
    "1005ms",
    "100000ms",
    "3600000ms",
    "100000000ms",
    "1d",
  ];
  for (const period of periods) gcra({ limit: 1, period, burst: 1 });
  // @ts-expect-error: a fraction
  assert.throws(() => gcra({ limit: 1, period: "1.5s", burst: 1 }), RangeError);
  // @ts-expect-error: below 0
  assert.throws(() => gcra({ limit: 1, period: "-1s", burst: 1 }), RangeError);
  // @ts-expect-error: no unit
  assert.throws(() => gcra({ limit: 1, period: "10", burst: 1 }), RangeError);
});

test("functions on a limiter say what its algorithm must allow", async () => {
  const rate = gcra({ limit: 2, period: "1m", burst: 2 });
  const jobs = concurrency({ limit: 2, ttl: "30s" });
  const plain = limiter(rate);
  const held = limiter(jobs);
  const both = limiter(blockable(all(jobs, rate)));

  assert.equal(hold(held, "key").decision.allowed, true);
  assert.equal(hold(both, "key").decision.allowed, true);
  assert.equal(block(both, "key", "1m").allowed, true);
  assert.equal(unblock(both, "key").remaining, 1);
  const waiting: Promise<unknown> = hold(held, "key", { maxWait: 0 });
  await waiting;

  // @ts-expect-error: units of permits are held
  assert.throws(() => held.consume("key"), /call hold/);
  // @ts-expect-error: also where only a part has permits
  assert.throws(() => both.consume("key"), /call hold/);
  // @ts-expect-error: as they are not consumed, nobody waits for them
  await assert.rejects(acquire(held, "key"), /call hold/);
  // @ts-expect-error: nor are they charged with others
  assert.throws(() => consumeAll([{ limiter: held, key: "key" }]), /call hold/);
  // @ts-expect-error: a rate has no permits
  assert.throws(() => hold(plain, "key"), /must be concurrency/);
  // @ts-expect-error: a rate has no permits
  await assert.rejects(withPermit(plain, "key", () => 1), /must be concurrency/);
  // @ts-expect-error: it is not blockable
  assert.throws(() => block(plain, "key", "1m"), /must be blockable/);
  // @ts-expect-error: it is not blockable
  assert.throws(() => unblock(held, "key"), /must be blockable/);
});

test("a copy of an algorithm allows what the algorithm allows", () => {
  const rate = gcra({ limit: 1, period: "1m", burst: 1 });
  const api = limiter({ ...blockable(rate), name: "mine" });
  assert.equal(block(api, "key", "1m").remaining, 0);
  const jobs = limiter({ ...concurrency({ limit: 1, ttl: "30s" }), name: "mine" });
  assert.equal(hold(jobs, "key").decision.allowed, true);
  const tokens = limiter({ ...reservable(rate), name: "mine" });
  assert.equal(reserve(tokens, "key").decision.allowed, true);
});

test("functions on a limiter refuse anything else", async () => {
  const says = { name: "TypeError", message: /it needs a limiter/ };
  const other = { ...limiter(algorithm) };
  for (const wrong of [other, undefined, null, 5] as never[]) {
    await assert.rejects(acquire(wrong, "key"), says);
    await assert.rejects(withPermit(wrong, "key", () => 1), says);
    assert.throws(() => hold(wrong, "key"), says);
    assert.throws(() => block(wrong, "key", "1m"), says);
    assert.throws(() => unblock(wrong, "key"), says);
    assert.throws(() => reserve(wrong, "key"), says);
  }
});
