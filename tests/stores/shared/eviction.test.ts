import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Algorithm, all, fixedWindow, gcra, slidingLog } from "../../../mod.ts";
import { attachMemory, BUCKET, SLOTS_PER_BUCKET } from "../../../stores/shared/layout.ts";
import { attachSharedStore, sharedStore } from "../../../stores/shared/shared_store.ts";
import {
  EVICTION_LIMIT,
  evictionLaw,
  evictionSubjects,
  guessesAdmitted,
  refusedKeysFreed,
} from "../../support/eviction_law.ts";
import { fcOptions } from "../../support/seed.ts";
import { consumeKeys, limiterOn } from "./support/limiter_on.ts";

const makeStore = (capacity: number) => sharedStore({ capacity, maxBytes: 2 ** 20, threads: 4 });
const subjects = Object.entries(evictionSubjects);
const window: Algorithm = fixedWindow({ limit: EVICTION_LIMIT, period: "1h" });

describe("a full store", () => {
  for (const subject of subjects) {
    const [name, algorithm] = subject;
    const law = evictionLaw(makeStore, algorithm);
    test(`of ${name}: ${law.name}`, () => law.run(fcOptions({ numRuns: 12 })));

    const flood = () => {
      for (const within of [0, 3_600_000]) {
        const { admitted, due } = guessesAdmitted(makeStore, algorithm, { capacity: 200, within });
        assert.ok(admitted <= due + EVICTION_LIMIT, `${admitted} admitted, ${due} due`);
      }
      return Promise.resolve();
    };
    test(
      `of ${name} admits no more guesses for a flood of made-up keys`,
      flood,
    );
  }

  for (const refused of [200, 1_000, 1_900, 1_980]) {
    test(`of 2,000 keys keeps ${refused} that are refused, whoever else comes`, () => {
      const flood = { capacity: 2_000, refused, flood: 10_000 };
      assert.equal(refusedKeysFreed(makeStore, window, flood), 0);
    });
  }

  test("for nodes keeps the keys that are refused", () => {
    const log = slidingLog({ limit: EVICTION_LIMIT, period: "1h" });
    // The arena has 100 logs, and 20 of them are full.
    const make = () => sharedStore({ capacity: 2_000, maxBytes: 100 * 128, threads: 1 });
    assert.equal(refusedKeysFreed(make, log, { capacity: 2_000, refused: 20, flood: 2_000 }), 0);
  });

  test("forgets keys that are used once by calls on several keys as well", () => {
    const api = limiterOn(makeStore(200), window);
    api.consume("refused", EVICTION_LIMIT);
    for (let key = 0; key < 100; key++) api.consume(`lasting ${key}`, EVICTION_LIMIT - 1);
    for (let key = 0; key < 1_000; key++) consumeKeys(api, `one ${key}`, `another ${key}`);
    assert.equal(api.peek("refused").allowed, false);
    for (let key = 0; key < 100; key++) {
      assert.equal(api.peek(`lasting ${key}`, 0).remaining, 1, `${key}`);
    }
  });

  test("looks at the part of `all` with the least left", () => {
    const often = gcra({ limit: 10, period: "1s", burst: 10 });
    const seldom = fixedWindow({ limit: 100, period: "1d" });
    const store = sharedStore({ capacity: 2, maxBytes: 0, threads: 1 });
    const now = { value: 1_790_000_000_000 };
    const api = limiterOn(store, all(often, seldom), () => now.value);
    for (let call = 0; call < 90; call++, now.value += 1_000) api.consume("by the day");
    // Nine of ten a second are left to the first, ten of a hundred a day; to the second 7 and 97.
    api.consume("now", 3);
    api.consume("another");
    assert.equal(api.peek("by the day", 0).parts![1]!.remaining, 10);
    assert.equal(api.peek("now", 0).parts![1]!.remaining, 100);
  });

  test("loses keys from all buckets alike", () => {
    // With 4.08 keys to a bucket, 1.7 % of the buckets are empty by chance, and 0.3 % have more than
    // ten.
    const store = sharedStore({ capacity: 8_358, maxBytes: 0, threads: 1 });
    const api = limiterOn(store, window);
    for (let key = 0; key < 60_000; key++) api.consume(`key ${key}`);
    const { ints, buckets, bucketMask, blockMask } = attachMemory(store.handle.buffer);
    const keys = Array.from({ length: bucketMask + 1 }, (_, bucket) => {
      const start = buckets + bucket * BUCKET;
      return ints.subarray(start, start + SLOTS_PER_BUCKET).filter((word) => word & blockMask)
        .length;
    });
    const empty = keys.filter((count) => count === 0).length;
    const crowded = keys.filter((count) => count > 10).length;
    assert.ok(
      empty < 2_048 * 0.035 && crowded < 2_048 * 0.02,
      `${empty} empty, ${crowded} crowded`,
    );
    assert.equal(store.statistics().evictionsForSlots, 0);
  });

  test("of which all keys but new ones are refused keeps them, whichever thread brings those", () => {
    const store = makeStore(1_000);
    const threads = [store, attachSharedStore(store.handle)].map((each) => limiterOn(each, window));
    for (let key = 0; key < 980; key++) threads[key % 2]!.consume(`refused ${key}`, EVICTION_LIMIT);
    for (let key = 0; key < 5_000; key++) threads[key % 2]!.consume(`key ${key}`);
    for (let key = 0; key < 980; key++) {
      assert.equal(threads[0]!.peek(`refused ${key}`).allowed, false, `${key}`);
    }
  });
});
