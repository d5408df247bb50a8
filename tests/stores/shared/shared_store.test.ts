import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import {
  type Algorithm,
  all,
  consumeAll,
  fixedWindow,
  gcra,
  limiter,
  lockout,
  memoryStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  StoreFullError,
  StoreUnavailableError,
} from "../../../mod.ts";
import {
  attachSharedStore,
  type Evictions,
  sharedStore,
  type SharedStoreHandle,
  type SharedStoreOptions,
} from "../../../stores/shared/shared_store.ts";
import { attachMemory, field, header } from "../../../stores/shared/layout.ts";
import { isLong } from "../../support/seed.ts";
import { limiterOn, NOW } from "./support/limiter_on.ts";
import { steppedStore } from "./support/stepped.ts";
import { whereObserved } from "./support/observed_memory.ts";

/** Keys that are put in one after another, and users of windows of many sub-buckets. */
const [COUNT, USERS] = isLong() ? [1_000_000, 20_000] : [60_000, 1_000];
const small = gcra({ limit: 2, period: "1h", burst: 2 });

function at(now: { value: number }) {
  return () => now.value;
}

describe("a full table", () => {
  test("of ten thousand takes many times as many distinct keys", () => {
    const store = sharedStore({ capacity: 10_000, maxBytes: 0, threads: 4 });
    const now = { value: NOW };
    const api = limiterOn(store, gcra({ limit: 60, period: "1m", burst: 60 }), at(now));
    for (let key = 0; key < COUNT; key++) {
      if (key % 8 === 0) now.value++;
      assert.equal(api.consume(`key ${key}`).remaining, 59);
    }
    const { keys, inserted, evictions, dropped } = store.statistics(now.value);
    assert.ok(keys <= 10_000);
    assert.equal(inserted, COUNT);
    // 8 keys a millisecond, each in use for a second: 8,000 live ones, so that few had to go.
    assert.ok(evictions < 10_000, `${evictions} evictions`);
    assert.ok(dropped > COUNT - 20_000, `${dropped} dropped`);
  });

  test("has no room for a key beside one that the same call looks at, and says so at once", () => {
    const store = sharedStore({ capacity: 1, threads: 2 });
    const api = limiterOn(store, small);
    api.consume("one");
    const entries = [{ limiter: api, key: "one", cost: 0 }, { limiter: api, key: "two" }];
    assert.throws(() => consumeAll(entries), StoreFullError);
    assert.equal(api.peek("one", 0).remaining, 1);
  });

  test("an arena without room drops fresh keys, then throws or forgets", () => {
    const now = { value: NOW };
    const log = slidingLog({ limit: 5, period: 1_000 });
    const refusing = sharedStore({ capacity: 100, maxBytes: 2_048, onFull: "throw", threads: 4 });
    const api = limiterOn(refusing, log, at(now));
    assert.throws(() => {
      for (let key = 0; key < 50; key++) api.consume(`key ${key}`);
    }, StoreFullError);
    now.value += 1_000;
    assert.equal(api.consume("another").remaining, 4);
    const forgetting = sharedStore({ capacity: 100, maxBytes: 2_048, threads: 4 });
    const other = limiterOn(forgetting, log, at(now));
    for (let key = 0; key < 50; key++) assert.equal(other.consume(`key ${key}`).remaining, 4);
    const { evictions, evictionsForNodes } = forgetting.statistics(now.value);
    assert.ok(evictions > 0 && evictions === evictionsForNodes);
  });
});

describe("a capacity", () => {
  test("holds as many sparse windows of many sub-buckets, each to exactly its limit", () => {
    const store = sharedStore({ capacity: 5 * USERS });
    const now = { value: NOW };
    const policy = slidingWindow({ limit: 50, period: "1h", precision: "1s" });
    const api = limiterOn(store, policy, at(now));
    let admitted = 0;
    for (let call = 0; call < 100; call++) {
      for (let user = 0; user < USERS; user++) {
        if (user % (USERS / 20) === 0) now.value++;
        if (api.consume(`user ${user}`).allowed) admitted++;
      }
      now.value += 30_000;
    }
    assert.equal(admitted, USERS * 50);
    assert.equal(store.statistics().evictions, 0);
  });

  for (
    const [name, widest] of Object.entries({
      "a log": slidingLog({ limit: 200, period: "1h" }),
      "a window in a tree": slidingWindow({ limit: 1_000, period: 3_600_000, precision: 2_000 }),
      "a number and a log": all(
        gcra({ limit: 1_000_000, period: "1h", burst: 1_000_000 }),
        slidingLog({ limit: 50, period: "1h" }),
      ),
    })
  ) {
    test(`for ${name} is a promise: no key in use is ever forgotten`, () => {
      const capacity = 300;
      const algorithms = [small, widest];
      const store = sharedStore({ capacity, for: algorithms, threads: 4, onFull: "throw" });
      const now = { value: NOW };
      const threads = [store, attachSharedStore(store.handle), attachSharedStore(store.handle)]
        .map((each) => limiterOn(each, widest, at(now)));
      const limit = widest.capacity;
      for (let call = 0; call < limit; call++) {
        for (let key = 0; key < capacity; key++) {
          const { allowed } = threads[(key + call) % 3]!.consume(`key ${key}`);
          assert.equal(allowed, true, `${key}: ${call}`);
        }
        now.value += Math.floor(3_590_000 / limit);
      }
      for (let key = 0; key < capacity; key++) {
        assert.equal(threads[0]!.consume(`key ${key}`).allowed, false);
      }
    });
  }

  for (
    const widest of [
      lockout({ limit: 3, period: "1h", lock: "1h" }),
      slidingCounter({ limit: 2 ** 32, period: 1_000 }),
      slidingLog({ limit: 1, period: 481 }),
      slidingWindow({ limit: 1, period: 600, precision: 10 }),
    ]
  ) {
    test(`for ${widest.id} holds as many keys in debt, charged as in memory`, () => {
      const store = sharedStore({ capacity: 300, for: [widest], threads: 1, onFull: "throw" });
      const now = { value: NOW };
      const api = limiterOn(store, widest, at(now));
      const memory = limiterOn(memoryStore(), widest, at(now));
      for (let call = 0; call < 70; call++, now.value += 10) {
        const units = call < 69 ? 1 + call % 3 : Number.MAX_SAFE_INTEGER;
        for (let key = 1; key < 300; key++) api.charge(`key ${key}`, units);
        assert.deepEqual(api.charge("key", units), memory.charge("key", units));
      }
      assert.equal(store.statistics().keys, 300);
    });
  }

  test("for a long log holds it when a charge builds it anew", () => {
    const log = slidingLog({ limit: 3_000, period: "1h" });
    const store = sharedStore({ capacity: 1, for: [log], threads: 1, onFull: "throw" });
    const now = { value: NOW };
    const { consume, charge } = limiterOn(store, log, at(now));
    for (; now.value < NOW + 3_000; now.value++) consume("key");
    for (let debt = 1; debt < 20; debt++, now.value++) {
      assert.equal(charge("key", 1).debt, debt);
    }
  });

  test("that cannot be kept for an algorithm is refused, with the bytes that it needs", () => {
    const log = slidingLog({ limit: 50_000, period: "1h" });
    const capacity = 1_000_000;
    assert.throws(
      () => sharedStore({ capacity, for: [small, log] }),
      /^RangeError: .* the bytes that capacity and for need must be at most 2147483520: .* \d+$/,
    );
    assert.throws(() => sharedStore({ capacity: 10, for: [log], maxBytes: 2 ** 20 }), RangeError);
    assert.throws(() => sharedStore({ capacity: 10, for: log as unknown as [] }), TypeError);
  });
});

describe("grow", () => {
  test("lets all threads keep more keys, and forgets none", () => {
    const sizes = {
      capacity: 2,
      maxCapacity: 300,
      for: [small, slidingLog({ limit: 5, period: "1h" })],
    };
    const store = sharedStore({ ...sizes, threads: 4, onFull: "throw" });
    const other = attachSharedStore(store.handle);
    const here = limiterOn(store, sizes.for[1]!);
    const there = limiterOn(other, sizes.for[1]!);
    for (let key = 0; key < 2; key++) here.consume(`key ${key}`);
    assert.throws(() => there.consume("key 2"), StoreFullError);
    other.grow(300);
    for (let call = 1; call < 6; call++) {
      for (let key = 0; key < 300; key++) {
        const { remaining } = (key % 2 ? here : there).consume(`key ${key}`);
        if (key > 1) assert.equal(remaining, 5 - call);
        else if (call < 5) assert.equal(remaining, 4 - call);
      }
    }
    assert.throws(() => here.consume("one more"), StoreFullError);
    const { keys, capacity, evictions } = store.statistics(NOW);
    assert.deepEqual([keys, capacity, evictions], [300, 300, 0]);
    store.grow(5);
    assert.equal(store.statistics().capacity, 300);
  });

  test("is refused beyond the maximum that the store was made for", () => {
    const store = sharedStore({ capacity: 10, maxBytes: 0, threads: 4 });
    const rule =
      /^RangeError: Cannot grow the shared store as capacity must be an integer from \d+ to 10/;
    assert.throws(() => store.grow(11), rule);
    assert.throws(() => store.grow(0), RangeError);
    assert.throws(() => sharedStore({ capacity: 10, maxCapacity: 9 }), RangeError);
    store.close();
    assert.throws(() => store.grow(10), StoreUnavailableError);
  });
});

test(
  "room in the arena is made in some hundred steps, however many keys take none of it",
  () => {
    whereObserved(() => {
      const store = sharedStore({ capacity: 50_000, maxBytes: 128 * 64, threads: 4 });
      const numbers = limiterOn(store, small);
      for (let key = 0; key < 20_000; key++) numbers.consume(`key ${key}`);
      let steps = 0;
      const stepped = steppedStore(store.handle, () => void steps++);
      const logs = limiterOn(stepped, slidingLog({ limit: 5, period: "1h" }));
      const longest = Array.from({ length: 200 }, (_, key) => {
        steps = 0;
        logs.consume(`log ${key}`);
        return steps;
      }).sort((a, b) => a - b).at(-1)!;
      assert.ok(store.statistics().evictionsForNodes > 100);
      assert.ok(longest < 2_000, `${longest} steps`);
    });
  },
);

describe("statistics", () => {
  test("count taken and returned memory without a look at the keys", () => {
    const store = sharedStore({ capacity: 1_000, threads: 4 });
    const log = limiterOn(store, slidingLog({ limit: 5, period: "1h" }));
    for (let key = 0; key < 100; key++) log.consume(`key ${key}`);
    const { keys, nodes, freeNodes, maxNodes, liveKeys, lostThreads } = store.statistics();
    assert.deepEqual([keys, nodes, freeNodes, liveKeys, lostThreads], [
      100,
      100,
      maxNodes - 100,
      undefined,
      0,
    ]);
    assert.equal(store.statistics({ full: true, now: NOW }).liveKeys, 100);
    const other = limiterOn(attachSharedStore(store.handle), log.algorithm);
    for (let key = 0; key < 100; key++) other.reset(`key ${key}`);
    assert.deepEqual([store.statistics().keys, store.statistics().nodes], [0, 0]);
  });

  test("of evictions are reported to the last one, at the end of a second or of the store", async () => {
    const reports: Evictions[] = [];
    let wake = () => {};
    const onEvict = (evictions: Evictions) => {
      reports.push(evictions);
      wake();
      throw new Error("none of the store's business");
    };
    const store = sharedStore({ capacity: 2, maxBytes: 0, threads: 4, onEvict });
    const api = limiterOn(store, small);
    for (let key = 0; key < 3; key++) api.consume(`key ${key}`);
    await Promise.resolve();
    for (let key = 3; key < 8; key++) api.consume(`key ${key}`);
    await Promise.resolve();
    assert.deepEqual(reports, [{ forKeys: 1, forNodes: 0 }]);
    await new Promise<void>((resolve) => {
      // The store's own timer keeps no process alive.
      const alive = setTimeout(() => {}, 60_000);
      wake = () => {
        clearTimeout(alive);
        resolve();
      };
    });
    assert.deepEqual(reports.slice(1), [{ forKeys: 5, forNodes: 0 }]);
    api.consume("key 8");
    store.close();
    await Promise.resolve();
    assert.deepEqual(reports.slice(2), [{ forKeys: 1, forNodes: 0 }]);
  });
});

describe("keys", () => {
  test("of 1 byte and of 1 MB, and in a last character's difference are different keys", () => {
    const store = sharedStore({ capacity: 1_000, threads: 4 });
    const api = limiterOn(store, small);
    const long = "x".repeat(2 ** 20);
    const keys = [
      ...["a", "b", "aa", "a\0", "\0", "\u{1f600}", "\u{1f601}", "\u{1fa00}"],
      ...[long, `${long}y`, `${long}z`, `y${long}`, "}", "{", "%7D", ":{a}:"],
    ];
    for (const key of keys) assert.equal(api.consume(key).remaining, 1, key.slice(0, 20));
    for (const key of keys) assert.equal(api.peek(key, 0).remaining, 1, key.slice(0, 20));
    assert.equal(store.statistics(NOW).keys, keys.length);
  });
});

describe("a state that does not fit", () => {
  test("in an empty arena is refused when the limiter is made, with the bytes that it needs", () => {
    for (const maxBytes of [0, 128 * 40]) {
      const store = sharedStore({ capacity: 10, maxBytes, threads: 4 });
      const log = slidingLog({ limit: 1_000, period: "1h" });
      for (const algorithm of [log, all(small, log)]) {
        assert.throws(
          () => limiter(algorithm, { store, prefix: "api" }),
          new RegExp(`^RangeError: .* maxBytes must be at least \\d+ for .* is ${maxBytes}$`),
        );
      }
      limiter(small, { store, prefix: "api" });
    }
  });

  test("is refused when the limiter is made, with the product's name", () => {
    const store = sharedStore({ capacity: 10, threads: 4 });
    const vast = slidingLog({ limit: 100_000, period: "1h" });
    assert.throws(
      () => limiter(vast, { store, prefix: "api" }),
      /min\(period in ms, limit\) .* must be at most 65536 .*slidingWindow.*: current value is 100000/,
    );
    assert.throws(() => limiter(all(small, vast), { store, prefix: "api" }), RangeError);
  });

  test("options out of range are refused, too", () => {
    const bad: readonly unknown[] = [
      undefined,
      {},
      { capacity: 0 },
      { capacity: 1.5 },
      { capacity: 16_000_001 },
      { capacity: "10" },
      { capacity: 10, maxBytes: -1 },
      { capacity: 10, maxBytes: 2 ** 40 },
      { capacity: 10, threads: 0 },
      { capacity: 10, threads: 5_000 },
      { capacity: 10, onFull: "wait" },
    ];
    for (const options of bad) {
      assert.throws(
        () => sharedStore(options as SharedStoreOptions),
        (error) => error instanceof RangeError || error instanceof TypeError,
        JSON.stringify(options),
      );
    }
  });
});

describe("a handle", () => {
  const store = sharedStore({ capacity: 10, maxBytes: 1_024, threads: 4 });

  /** The store's bytes, one word of them changed. */
  function forged(word: number, value: number): SharedArrayBuffer {
    const copy = new SharedArrayBuffer(store.handle.buffer.byteLength);
    new Uint8Array(copy).set(new Uint8Array(store.handle.buffer));
    new Int32Array(copy)[word] = value;
    return copy;
  }

  test("that was forged or truncated is refused, with the found and the expected value", () => {
    const kind = "tidegate/shared";
    const { buffer } = store.handle;
    const cut = new SharedArrayBuffer(buffer.byteLength - 128);
    new Uint8Array(cut).set(new Uint8Array(buffer, 0, cut.byteLength));
    const attach = (handle: unknown) => () => attachSharedStore(handle as SharedStoreHandle);
    assert.throws(attach(undefined), TypeError);
    assert.throws(attach({ kind: "something else", buffer }), /tidegate\/shared.*something else/);
    assert.throws(attach({ kind, buffer: new ArrayBuffer(1_024) }), TypeError);
    assert.throws(attach({ kind, buffer: new SharedArrayBuffer(8) }), /256 bytes.*value is 8/);
    assert.throws(attach({ kind, buffer: forged(0, 7) }), /magic number must be \d+: .* is 7/);
    assert.throws(attach({ kind, buffer: forged(1, 8) }), /layout version must be 10: .* is 8/);
    assert.throws(attach({ kind, buffer: forged(2, 99) }), /capacity must be 1 to 10: .* is 99/);
    assert.throws(attach({ kind, buffer: forged(13, 99) }), /number of bytes must be \d+: /);
    assert.throws(attach({ kind, buffer: cut }), /number of bytes must be \d+: .* is \d+/);
    assert.throws(attach({ kind, buffer: forged(5, -5) }), RangeError);
    const words = [header.buckets, header.blocks, header.nodeStart, header.throwsWhenFull];
    const counts = [header.records, header.blockCount, header.nodeCount];
    for (const word of [...words, ...counts, header.blockPool, header.nodePool]) {
      assert.throws(attach({ kind, buffer: forged(word, -1) }), RangeError, `${word}`);
      assert.throws(attach({ kind, buffer: forged(word, 2 ** 30) }), RangeError);
    }
    for (const keys of [-(2 ** 30), 2 ** 30]) {
      assert.throws(attach({ kind, buffer: forged(header.keys, keys) }), RangeError);
    }
  });

  test("attaches as many threads as the store allows, and idle threads give way", () => {
    const attached = Array.from({ length: 8 }, () => attachSharedStore(store.handle));
    const limiters = attached.map((each) =>
      limiterOn(each, gcra({ limit: 100, period: "1h", burst: 100 }))
    );
    for (const each of limiters) each.consume("key");
    for (const each of limiters) each.consume("key");
    assert.equal(limiters[0]!.peek("key", 0).remaining, 84);
    const { threads, waits } = store.statistics(NOW);
    assert.ok(threads <= 4 && waits >= 4, `${waits} waits of ${threads} threads`);
  });

  test("is what goes to a thread: the store itself names it in the error", () => {
    const own = sharedStore({ capacity: 10, maxBytes: 0, threads: 4 });
    const named = /Cannot send a shared store to another thread because .* send store\.handle/;
    assert.throws(() => structuredClone(own), named);
    assert.throws(() => {
      new Worker(new URL("./support/worker.ts", import.meta.url), { workerData: { store: own } });
    }, named);
    // Code that copies or prints stores in the same thread keeps working.
    assert.equal({ ...own }.handle, own.handle);
    assert.ok(JSON.stringify({ own }).includes("tidegate/shared"));
  });

  test("that was sent to another process is refused, because processes share no memory", () => {
    const sent = JSON.parse(JSON.stringify(store.handle)) as SharedStoreHandle;
    for (const handle of [sent, {} as SharedStoreHandle]) {
      assert.throws(
        () => attachSharedStore(handle),
        /^TypeError: .* processes, such as those of node:cluster, share no memory: give each sqliteStore or redisStore/,
      );
    }
  });

  test("of a thread that lost its record, when all others died in calls, says so after one wait", () => {
    const store = sharedStore({ capacity: 10, threads: 1 });
    const idle = limiterOn(store, small);
    attachSharedStore(store.handle);
    const { ints, records } = attachMemory(store.handle.buffer);
    ints[records + field.announced] = 1;
    let waits = 0;
    whereObserved(() =>
      assert.throws(
        () => idle.consume("key"),
        /^StoreFullError: Cannot decide in a thread whose record another one has taken over .* is 1$/,
      ), () => void waits++);
    assert.equal(waits, 1);
  });
});

test("a key whose state is one number takes less than 64 bytes", () => {
  const bytes = (capacity: number) =>
    sharedStore({ capacity, maxBytes: 0, threads: 1 }).handle.buffer.byteLength;
  // Buckets come in powers of two: three keys to one, and up to six.
  assert.ok((bytes(98_304) - bytes(1)) / 98_304 <= 64);
  assert.ok((bytes(1_000_000) - bytes(1)) / 1_000_000 <= 64);
});

test("a changed limit takes over older use, whoever has used equal options before", () => {
  const store = sharedStore({ capacity: 100 });
  // The limits are so high that a state is no single number.
  const made = (limit: number) => fixedWindow({ limit, period: 1 }) as Algorithm;
  const [older, other, newer] = [made(70_000), made(80_000), made(80_000)];
  const options = { store, prefix: "test", clock: () => NOW };
  limiter(older!, options).consume("key", 600);
  limiter(other!, options).consume("another key");
  const replaces = { algorithm: older!, mode: "keep" } as const;
  const api = limiter(newer!, { ...options, replaces });
  api.consume("key");
  assert.equal(api.peek("key", 0).remaining, 80_000 - 601);
});
