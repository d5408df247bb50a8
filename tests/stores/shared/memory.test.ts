import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Algorithm,
  gcra,
  type Limiter,
  lockout,
  slidingLog,
  slidingWindow,
  StoreFullError,
  StoreUnavailableError,
} from "../../../mod.ts";
import { attachMemory, field, header } from "../../../stores/shared/layout.ts";
import { attachThread, usedRecords } from "../../../stores/shared/threads/thread.ts";
import { attachSharedStore, sharedStore } from "../../../stores/shared/shared_store.ts";
import { isLong } from "../../support/seed.ts";
import { audit, NOTHING } from "./support/audit.ts";
import { consumeKeys, five, limiterOn, NOW } from "./support/limiter_on.ts";
import { startWorkers } from "./support/workers.ts";
import { interrupted } from "./support/window_laws.ts";
import { names } from "../../support/policies.ts";

/** A capacity with two keys to a bucket. Hardly one bucket in ten million is ever short of room. */
const ROOMY = 262;
/** Calls of each thread on a narrow store. */
const PER_THREAD = isLong() ? 6_000 : 500;

/** Takes all units of that many keys, and fails if a key has not had its limit. */
function exhaust({ consume }: Limiter, name: string, keys: number, limit = 5): void {
  for (let call = 0; call < limit + 2; call++) {
    for (let key = 0; key < keys; key++) {
      assert.equal(consume(`${name} ${key}`).allowed, call < limit, `${name} ${key}: ${call}`);
    }
  }
}

describe("memory freed", () => {
  test("by one thread is there for another, and after it has closed or sleeps", () => {
    const store = sharedStore({ capacity: ROOMY, onFull: "throw", threads: 4 });
    const api = limiterOn(store);
    for (let round = 0; round < 5; round++) {
      for (let key = 0; key < ROOMY; key++) api.consume(`${round} ${key}`);
      assert.throws(() => api.consume("one more"), StoreFullError);
      const other = attachSharedStore(store.handle);
      for (let key = 0; key < ROOMY; key++) limiterOn(other).reset(`${round} ${key}`);
      if (round % 2 === 0) other.close();
      assert.equal(store.statistics(NOW).keys, 0);
    }
    assert.deepEqual(audit(store.handle), NOTHING);
  });

  test("in an arena by dropped keys is there for all threads", () => {
    const store = sharedStore({ capacity: 10_000, maxBytes: 128 * 4_000, threads: 8 });
    const now = { value: NOW };
    const log = slidingLog({ limit: 500, period: 10_000 });
    const threads = [store, attachSharedStore(store.handle), attachSharedStore(store.handle)];
    const limiters = threads.map((each) => limiterOn(each, log, () => now.value));
    for (let round = 0; round < 40; round++) {
      const one = limiters[round % 3]!;
      for (let unit = 0; unit < 300; unit++) {
        now.value++;
        assert.equal(one.consume(`${round} ${unit % 5}`).allowed, true);
      }
      assert.deepEqual(audit(store.handle), NOTHING);
    }
    const alone = limiterOn(attachSharedStore(store.handle), log, () => now.value);
    now.value += 10_000;
    for (let key = 0; key < 1_900; key++) alone.consume(`fresh ${key}`);
    // A log of one entry takes a node: what three idle threads keep is a small part.
    assert.ok(store.statistics(now.value).liveKeys! > 1_700);
  });
});

describe("counts that run on", () => {
  test("pass 2^31 and 2^32 without harm", () => {
    const store = sharedStore({ capacity: 100, threads: 2 });
    const memory = attachMemory(store.handle.buffer);
    for (const start of [2 ** 31 - 200, 2 ** 32 - 200]) {
      const api = limiterOn(store);
      exhaust(api, "before", 20);
      const [record] = usedRecords(memory) as [number];
      const { ints } = memory;
      // The ring stands 128 entries round the same way.
      const turns = Math.round((start - (ints[record + field.head]! >>> 0)) / 128) * 128;
      for (const count of [field.head, field.vetted, field.tail]) ints[record + count]! += turns;
      for (let round = 0; round < 400; round++) {
        exhaust(api, "after", 5);
        for (let key = 0; key < 5; key++) api.reset(`after ${key}`);
      }
      assert.deepEqual(audit(store.handle), NOTHING);
      for (let key = 0; key < 20; key++) api.reset(`before ${key}`);
    }
    assert.equal(memory.ints[header.keys], 0);
  });
});

describe("a full store", () => {
  test("of an arena is made by keys for which one thread has lost a race", () => {
    const store = sharedStore({ capacity: 1_000, maxBytes: 16_384 });
    const other = attachSharedStore(store.handle);
    const tree = slidingWindow({ limit: 500, period: 6_000, precision: 10 });
    let meanwhile = () => {};
    const slow = interrupted(tree, () => meanwhile());
    const windows = limiterOn(store, slow);
    const quick = limiterOn(other, tree);
    const numbers = limiterOn(store);
    for (let key = 0; key < 90; key++) {
      assert.equal(windows.consume(`key ${key}`, 499).allowed, true);
      meanwhile = () => {
        meanwhile = () => {};
        assert.equal(quick.consume(`key ${key}`).allowed, true);
      };
      assert.equal(windows.consume(`key ${key}`).allowed, false);
      // Its blocks go on to keys without nodes.
      numbers.consume(`key ${key}`);
    }
    assert.ok(store.statistics().evictionsForNodes > 0);
    store.close();
    other.close();
  });

  test("finds a fresh key before it throws or evicts, wherever that key is", () => {
    for (const onFull of ["throw", "evict"] as const) {
      const store = sharedStore({ capacity: ROOMY, onFull, threads: 2 });
      const now = { value: NOW };
      const brief = limiterOn(store, gcra({ limit: 5, period: 500, burst: 5 }), () => now.value);
      const long = limiterOn(store, five, () => now.value);
      for (let key = 0; key < 100; key++) brief.consume(`brief ${key}`);
      for (let key = 0; key < ROOMY - 100; key++) long.consume(`long ${key}`);
      now.value += 10_000;
      for (let key = 0; key < 100; key++) {
        now.value += 20;
        assert.equal(long.consume(`new ${key}`).allowed, true);
      }
      assert.equal(store.statistics(now.value).evictions, 0);
      assert.equal(store.statistics(now.value).liveKeys, ROOMY);
      assert.deepEqual(audit(store.handle), NOTHING);
    }
  });

  test("decides on several keys at once, if they fit", () => {
    for (const capacity of [2, 3, 8, 60, 200]) {
      const store = sharedStore({ capacity, threads: 2 });
      const api = limiterOn(store);
      for (let key = 0; key < capacity; key++) api.consume(`old ${key}`);
      for (let round = 0; round < 20; round++) {
        const keys = Array.from({ length: Math.min(capacity, 20) }, (_, key) => `${round} ${key}`);
        assert.equal(consumeKeys(api, ...keys), true);
        for (const key of keys) assert.equal(api.peek(key, 0).remaining, 4);
      }
      assert.deepEqual(audit(store.handle), NOTHING);
    }
  });

  test("says at once that several keys do not fit, and changes nothing", () => {
    const store = sharedStore({ capacity: 3, threads: 2 });
    const api = limiterOn(store);
    api.consume("old");
    const keys = ["one", "two", "three", "four"];
    assert.throws(
      () => consumeKeys(api, ...keys),
      /capacity of at least the 4 keys: current value is 3/,
    );
    assert.equal(api.peek("old", 0).remaining, 4);
    const narrow = sharedStore({ capacity: 3, onFull: "throw", threads: 2 });
    const other = limiterOn(narrow);
    for (const key of ["a", "b"]) other.consume(key);
    assert.throws(() => consumeKeys(other, "one", "two"), StoreFullError);
    assert.equal(narrow.statistics(NOW + 1).liveKeys, 2);
    assert.deepEqual(audit(narrow.handle), NOTHING);
  });
});

describe("a reducer that throws", () => {
  test("leaves nothing behind, alone and among several", () => {
    const store = sharedStore({ capacity: 100, maxBytes: 2 ** 16, threads: 2 });
    const locking = lockout({ limit: 5, period: "1s", lock: ["1s", "2s"], forget: "1s" });
    for (const base of [five, locking]) {
      let throws = false;
      const step: Algorithm["step"] = (state, now, cost) => {
        if (throws) throw new Error("none of the store's business");
        return base.step(state, now, cost);
      };
      const failing: Algorithm = { ...base, id: `failing-${base.id}`, internals: undefined, step };
      const api = limiterOn(store, failing);
      const both = () => consumeKeys(api, "one", "two");
      both();
      throws = true;
      assert.throws(() => api.consume("one"), /none of the store's business/);
      assert.throws(both, /none of the store's business/);
      throws = false;
      assert.equal(api.consume("one").remaining, 3);
      assert.deepEqual(audit(store.handle), NOTHING);
    }
  });
});

describe("threads at once", () => {
  test("on a narrow store keep each block and node in one place", async () => {
    const workers = await startWorkers(sharedStore({ capacity: 1 }), 3);
    try {
      for (const [capacity, nodes] of [[4, 60], [40, 400], [2_000, 4_000]] as const) {
        const store = sharedStore({ capacity, maxBytes: nodes * 128, threads: 8 });
        await workers.attach(3, store);
        const job = {
          kind: "churn",
          names,
          limit: 50,
          keys: 2 * capacity,
          calls: PER_THREAD,
        } as const;
        const errors = await workers.run<readonly string[]>(3, () => job);
        // Three threads with four keys each may never find room for all of them.
        const known = ["StoreFullError", "ContentionError"];
        assert.ok(errors.flat().every((name) => known.includes(name)), errors.flat().join());
        if (capacity === 2_000) assert.deepEqual(errors.flat(), []);
        assert.deepEqual(audit(store.handle), NOTHING);
        // Threads that insert at one moment may hold a key each beyond the capacity.
        assert.ok(store.statistics(0).keys <= capacity + 3);
      }
    } finally {
      await workers.stop();
    }
  });
});

describe("records of threads that make no calls", () => {
  const made = () => attachMemory(sharedStore({ capacity: 10, threads: 100 }).handle.buffer);

  test("are taken before new ones, once the threads have made none for long", () => {
    const memory = made();
    for (let second = 0; second < 200; second += 11) {
      attachThread(memory, NOW + second * 1_000);
    }
    assert.ok(usedRecords(memory).length <= 2, `${usedRecords(memory).length} records`);
  });

  test("are left alone for some seconds, and as long as there are calls", () => {
    const memory = made();
    const calls = new Set(Array.from({ length: 20 }, (_, second) => {
      const { record } = attachThread(memory, NOW + second * 400);
      return record;
    }));
    assert.equal(calls.size, 20);
    for (let second = 10; second < 100; second += 9) {
      for (const record of usedRecords(memory)) memory.ints[record + field.calls]!++;
      assert.equal(calls.has(attachThread(memory, NOW + second * 1_000).record), false);
    }
  });
});

test("a closed store announces nothing in a record that is another thread's", () => {
  const store = sharedStore({ capacity: 10, threads: 1 });
  const memory = attachMemory(store.handle.buffer);
  const closed = limiterOn(store);
  closed.consume("key");
  store.close();
  const other = limiterOn(attachSharedStore(store.handle));
  other.consume("key");
  const [record] = usedRecords(memory) as [number];
  memory.ints[record + field.announced] = 77;
  assert.throws(() => closed.consume("key"), StoreUnavailableError);
  assert.equal(memory.ints[record + field.announced], 77);
});
