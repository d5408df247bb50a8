import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import {
  acquire,
  all,
  consumeAll,
  gcra,
  limiter,
  lockout,
  memoryStore,
  slidingLog,
} from "../../../mod.ts";
import type { SyncStore } from "../../../mod.ts";
import { denyCache, fallback, lease } from "../../../stores/layered/layered.ts";
import { attachSharedStore, sharedStore } from "../../../stores/shared/shared_store.ts";

const hour = gcra({ limit: 2, period: "1h", burst: 2 });

describe("resetPrefix", () => {
  test("forgets the keys of the prefix under every algorithm, and of no other prefix", () => {
    const options = { store: memoryStore(), clock: virtualClock(0) };
    const [one, other, longer] = [
      limiter(hour, { ...options, prefix: "api" }),
      limiter(slidingLog({ limit: 3, period: "1h" }), { ...options, prefix: "api" }),
      limiter(hour, { ...options, prefix: "api:v2" }),
    ];
    for (const each of [one, other, longer]) for (const key of ["a", "b"]) each.consume(key, 2);
    one.resetPrefix();
    assert.deepEqual([one, other, longer].map((each) => each.peek("b", 0).remaining), [2, 3, 0]);
    assert.equal(options.store.statistics().keys, 2);
    one.consume("a");
    assert.equal(one.peek("a", 0).remaining, 1);
  });

  test("wakes whoever waits for one of the keys", async () => {
    const calls = limiter(hour, { clock: virtualClock(0) });
    for (const key of ["a", "b"]) calls.consume(key, 2);
    const waiting = Promise.all(["a", "b"].map((key) => acquire(calls, key)));
    await Promise.resolve();
    calls.resetPrefix();
    assert.deepEqual((await waiting).map(({ remaining }) => remaining), [1, 1]);
  });

  test("is an error on a store that cannot", () => {
    const { deleteAll: _, ...store } = memoryStore();
    const calls = limiter(hour, { store: store as SyncStore, prefix: "api" });
    assert.throws(
      () => calls.resetPrefix(),
      /^TypeError: Cannot reset all keys as its store must have deleteAll: current value is undef/,
    );
    const wrapped = limiter(hour, { store: lease(store, { units: 2, ttl: 1 }), prefix: "api" });
    assert.throws(() => wrapped.resetPrefix(), /must have deleteAll/);
  });

  test("goes through stores made of stores, and through their caches", () => {
    const clock = virtualClock(0);
    const refusals = limiter(hour, { store: denyCache(memoryStore()), prefix: "api", clock });
    for (let call = 0; call < 4; call++) refusals.consume("a");
    refusals.resetPrefix();
    assert.equal(refusals.consume("a").allowed, true);

    const inner = memoryStore();
    const store = lease(inner, { units: 2, ttl: "1m" });
    const blocks = limiter(gcra({ limit: 4, period: "1h", burst: 4 }), {
      store,
      prefix: "api",
      clock,
    });
    blocks.consume("a");
    blocks.resetPrefix();
    assert.equal(inner.statistics().keys, 0);
    blocks.consume("a");
    assert.equal(blocks.peek("a", 0).remaining, 3);

    const [first, second] = [memoryStore(), memoryStore()];
    const both = fallback(first, second, { share: 1 });
    for (const store of [first, second]) limiter(hour, { store, prefix: "api" }).consume("a");
    limiter(hour, { store: both, prefix: "api" }).resetPrefix();
    assert.deepEqual([first, second].map((store) => store.statistics().keys), [0, 0]);
  });
});

describe("resetPrefix in shared memory", () => {
  const algorithm = all(hour, lockout({ limit: 5, period: "1h", lock: "1h" }));

  test("holds in every thread, for calls of every kind, and as often as it is called", () => {
    const store = sharedStore({ capacity: 100 });
    const other = attachSharedStore(structuredClone(store.handle));
    const options = { prefix: "api", clock: virtualClock(0) };
    const [here, there] = [
      limiter(algorithm, { ...options, store }),
      limiter(algorithm, { ...options, store: other }),
    ];
    const beside = limiter(hour, { ...options, store: other, prefix: "api2" });
    beside.consume("a", 2);
    for (let round = 0; round < 5; round++) {
      assert.equal(there.consume("a", 2).remaining, 0);
      assert.equal(here.consume("a").allowed, false);
      here.resetPrefix();
      for (const each of [here, there]) assert.equal(each.peek("a", 0).remaining, 2);
      const entries = [{ limiter: there, key: "a" }, { limiter: there, key: "b" }];
      assert.equal(consumeAll(entries).remaining, 1);
      assert.equal(here.charge("a", 3).debt, 2);
      there.resetPrefix();
      assert.equal(here.refund("a").remaining, 2);
      there.reset("b");
    }
    assert.equal(beside.peek("a", 0).remaining, 0);
    // A thread that comes later knows of it, too.
    const late = attachSharedStore(structuredClone(store.handle));
    here.consume("a");
    assert.equal(limiter(algorithm, { ...options, store: late }).peek("a", 0).remaining, 1);
    for (const each of [store, other, late]) each.close();
  });

  test("gives the room of the forgotten keys to others", () => {
    const store = sharedStore({ capacity: 50 });
    const clock = virtualClock(0);
    const calls = limiter(hour, { store, prefix: "api", clock });
    for (let round = 0; round < 10; round++) {
      for (let key = 0; key < 40; key++) calls.consume(`${key}`, 2);
      calls.resetPrefix();
      for (let key = 0; key < 40; key++) assert.equal(calls.peek(`${key}`, 0).remaining, 2);
    }
    store.close();
  });
});
