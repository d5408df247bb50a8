import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Algorithm,
  fixedWindow,
  type Limiter,
  slidingLog,
  StoreFullError,
} from "../../../mod.ts";
import { attachMemory, BUCKET, INTENT } from "../../../stores/shared/layout.ts";
import {
  attachSharedStore,
  type SharedStore,
  sharedStore,
} from "../../../stores/shared/shared_store.ts";
import { reachOf } from "../../../stores/shared/table/table.ts";
import { isLong } from "../../support/seed.ts";
import { audit, NOTHING } from "./support/audit.ts";
import { homeOf, keysOfHome, withFixedHash } from "./support/homes.ts";
import { limiterOn, NOW } from "./support/limiter_on.ts";
import { steppedStore } from "./support/stepped.ts";
import { whereObserved } from "./support/observed_memory.ts";

const HOUR = 3_600_000;
const five: Algorithm = fixedWindow({ limit: 5, period: HOUR, anchor: "first" }) as Algorithm;
/** Slots of a bucket, and of a chain of eight. */
const [SLOTS, CHAIN_SLOTS] = [12, 96];

/** A store in which keys fall into the same buckets in each run. */
function storeOf(capacity: number, onFull: "throw" | "evict" = "throw"): SharedStore {
  return withFixedHash(sharedStore({ capacity, onFull, maxBytes: 0, threads: 4 }));
}

/** How far out keys of each bucket may stand. */
function reaches({ handle }: SharedStore): number[] {
  const memory = attachMemory(handle.buffer);
  return Array.from(
    { length: memory.bucketMask + 1 },
    (_, bucket) => reachOf(memory, memory.ints[memory.buckets + bucket * BUCKET + INTENT]!),
  );
}

test("a store holds its capacity, the table as full as it can be: no refusal, no eviction", () => {
  // 4.08 keys to a bucket, as close below a power of two of buckets as it goes.
  const capacity = 8_358;
  let beyond = 0;
  for (let fill = 0; fill < (isLong() ? 200 : 8); fill++) {
    const store = storeOf(capacity);
    const api = limiterOn(store, five);
    const keys = Array.from({ length: capacity }, (_, key) => `${fill} ${key}`);
    for (const key of keys) assert.equal(api.consume(key).remaining, 4);
    for (const key of keys) assert.equal(api.peek(key, 0).remaining, 4);
    beyond += reaches(store).filter((reach) => reach > 0).length;
    assert.throws(() => api.consume("one more"), /the capacity of sharedStore must be more than/);
    assert.deepEqual(audit(store.handle), NOTHING);
  }
  // One bucket in 1,400 has more than twelve keys.
  assert.ok(beyond > 0, "no bucket was ever full");
});

describe("keys of a full bucket", () => {
  test("stand in the next ones, are found there, changed, forgotten, and put in again", () => {
    const store = storeOf(130);
    const api = limiterOn(store, five);
    const other = limiterOn(attachSharedStore(store.handle), five);
    // The last bucket of 32: the next ones are the first.
    const keys = keysOfHome(store.handle, five, 31, 40);
    for (const key of keys) api.consume(key);
    assert.equal(reaches(store)[31], 3);
    const { probes } = store.statistics();
    for (const key of keys) assert.equal(other.consume(key).remaining, 3, key);
    for (const key of keys) assert.equal(other.refund(key).remaining, 4, key);
    for (const key of keys) assert.equal(other.consume(key).remaining, 3, key);
    // Their tags lead to them.
    assert.equal(store.statistics().probes, probes);
    for (const key of keys.slice(0, 30)) other.reset(key);
    for (const key of keys.slice(0, 30)) assert.equal(api.consume(key).remaining, 4, key);
    for (const key of keys.slice(30)) assert.equal(api.consume(key).remaining, 2, key);
    assert.equal(store.statistics().keys, 40);
    assert.deepEqual(audit(store.handle), NOTHING);
  });

  test("are searched for no further out than they stand, once the keys further out are gone", () => {
    const store = storeOf(130);
    const api = limiterOn(store, five);
    const [next, ...keys] = keysOfHome(store.handle, five, 3, 2 * SLOTS + 2) as [string];
    for (const key of keys) api.consume(key);
    assert.equal(reaches(store)[3], 3);
    for (const key of keys) api.reset(key);
    api.consume(next);
    assert.equal(reaches(store)[3], 0);
  });

  test("are found beside their home, after a new one has come into it", () => {
    const store = storeOf(130);
    const api = limiterOn(store, five);
    const [next, ...keys] = keysOfHome(store.handle, five, 3, SLOTS + 2) as [string, string];
    for (const key of keys) api.consume(key);
    api.reset(keys[0]);
    api.consume(next);
    assert.equal(reaches(store)[3], 1);
    for (const key of keys.slice(1)) assert.equal(api.consume(key).remaining, 3, key);
    assert.equal(store.statistics({ full: true }).keys, SLOTS + 1);
  });

  test("that are fresh again give way, before the next bucket is used", () => {
    const store = storeOf(130);
    const now = { value: NOW };
    const api = limiterOn(store, five, () => now.value);
    const keys = keysOfHome(store.handle, five, 3, 2 * SLOTS);
    for (const key of keys.slice(0, SLOTS)) api.consume(key);
    now.value += HOUR;
    for (const key of keys.slice(SLOTS)) api.consume(key);
    assert.equal(reaches(store)[3], 0);
    assert.equal(store.statistics().dropped, SLOTS);
  });

  test("are dropped wherever they stand when room in the arena is needed", () => {
    const log = slidingLog({ limit: 5, period: HOUR }) as Algorithm;
    const now = { value: NOW };
    const small = { capacity: 130, maxBytes: 20 * 128, threads: 2, onFull: "throw" } as const;
    const store = withFixedHash(sharedStore(small));
    const api = limiterOn(store, log, () => now.value);
    const keys = keysOfHome(store.handle, log, 3, 40);
    // As many as the arena has room for; the last ones stand beside their home.
    for (const key of keys.slice(0, 18)) api.consume(key);
    assert.ok(reaches(store)[3]! > 0);
    for (const key of keys.slice(0, SLOTS)) api.reset(key);
    now.value += HOUR;
    for (const key of keys.slice(18, 36)) assert.equal(api.consume(key).remaining, 4, key);
    assert.deepEqual(audit(store.handle), NOTHING);
  });
});

describe("the 97th key of one home", () => {
  /**
   * A store below its capacity in which all slots of a chain are in use: one key less than the others.
   */
  function crowded(onFull: "throw" | "evict") {
    const store = storeOf(130, onFull);
    const api = limiterOn(store, five);
    const keys = keysOfHome(store.handle, five, 3, CHAIN_SLOTS + 2);
    const last = keys.splice(CHAIN_SLOTS);
    for (const key of keys) api.consume(key, key === keys[50] ? 1 : 2);
    return { store, api, keys, last };
  }

  test("is refused below the capacity where onFull says so, with the reason", () => {
    const { store, api, last: [key], keys } = crowded("throw");
    assert.throws(() => api.consume(key!), (error: Error) => {
      assert.ok(error instanceof StoreFullError);
      assert.match(error.message, /one of the 96 slots that its hash leads to must be free/);
      return true;
    });
    assert.equal(store.statistics().keys, CHAIN_SLOTS);
    for (const each of keys) assert.ok(api.peek(each, 0).remaining < 5);
    assert.deepEqual(audit(store.handle), NOTHING);
  });

  test("takes the place of the key that gives away the least, which is counted apart", () => {
    const { store, api, keys, last } = crowded("evict");
    assert.equal(api.consume(last[0]!).remaining, 4);
    const { evictions, evictionsForSlots } = store.statistics();
    assert.deepEqual([evictions, evictionsForSlots, store.statistics().keys], [1, 1, CHAIN_SLOTS]);
    assert.deepEqual(keys.filter((key) => api.peek(key, 0).remaining === 5), [keys[50]]);
    assert.deepEqual(audit(store.handle), NOTHING);
  });

  test("counts as one that found the store full, where it is", () => {
    const { store, api, last } = crowded("evict");
    for (let key = 0; store.statistics().keys < 130; key++) {
      if (homeOf(store.handle, five, `filler ${key}`) > 12) api.consume(`filler ${key}`);
    }
    api.consume(last[0]!);
    const { evictions, evictionsForSlots } = store.statistics();
    assert.deepEqual([evictions, evictionsForSlots], [1, 0]);
  });
});

for (const [where, held] of [["its bucket", 1], ["its full bucket", SLOTS]] as const) {
  test(`a key that two threads bring is inserted once, even if another slot of ${where} becomes free`, () => {
    whereObserved(() => {
      for (let stop = 0, steps = 1; stop < steps; stop++) {
        const store = storeOf(40);
        const other = limiterOn(store, five);
        const [one, first, ...more] = keysOfHome(store.handle, five, 3, 1 + held);
        // The slot of the first key comes before the slot that the stopped thread chooses.
        for (const key of [first!, ...more]) other.consume(key);
        const take = (api: Limiter) => void api.consume(one!);
        const taken = stoppedAt(stop, store, take, () => {
          other.reset(first!);
          take(other);
        });
        steps = Math.max(steps, taken);
        assert.equal(other.peek(one!, 0).remaining, 3, `step ${stop}`);
        assert.equal(store.statistics({ full: true }).keys, held, `step ${stop}`);
        assert.deepEqual(audit(store.handle), NOTHING, `step ${stop}`);
      }
    });
  });
}

/** Runs a call of a thread on a store; at a step, counted from 0, others call. Answers its steps. */
function stoppedAt(
  stop: number,
  store: SharedStore,
  call: (api: Limiter) => void,
  meanwhile: () => void,
): number {
  let step = 0;
  let isCalling = false;
  const own = limiterOn(
    steppedStore(store.handle, () => {
      if (isCalling && step++ === stop) meanwhile();
    }),
    five,
  );
  isCalling = true;
  call(own);
  isCalling = false;
  // The call was over before.
  if (step <= stop) meanwhile();
  return step;
}

describe("a thread that is stopped while it takes the last place", () => {
  test("while another fills the bucket: its key comes in, and none in use is forgotten", () => {
    whereObserved(() => {
      for (let stop = 0, steps = 1; stop < steps; stop++) {
        const store = storeOf(13, "evict");
        const [mine, theirs, ...held] = keysOfHome(store.handle, five, 1, 13) as [string, string];
        const elsewhere = keysOfHome(store.handle, five, 3, 1)[0]!;
        const other = limiterOn(store, five);
        for (const key of [...held, elsewhere]) other.consume(key);
        const taken = stoppedAt(stop, store, (own) => own.consume(mine), () => {
          // A place becomes free, and the last slot of the bucket is taken.
          other.reset(elsewhere);
          other.consume(theirs);
        });
        steps = Math.max(steps, taken);
        for (const key of [mine, theirs, ...held]) {
          assert.equal(other.peek(key, 0).remaining, 4, `step ${stop}: ${key}`);
        }
        const { keys, evictions } = store.statistics();
        assert.deepEqual([keys, evictions], [13, 0], `step ${stop}`);
        assert.deepEqual(audit(store.handle), NOTHING, `step ${stop}`);
      }
    });
  });

  for (const onFull of ["throw", "evict"] as const) {
    test(`while another brings the same key: no key is forgotten or refused, ${onFull}`, () => {
      whereObserved(() => {
        for (let stop = 0, steps = 1; stop < steps; stop++) {
          const store = storeOf(3, onFull);
          const other = limiterOn(store, five);
          for (const key of ["a", "b"]) other.consume(key);
          const take = (api: Limiter) => void api.consume("one");
          steps = Math.max(steps, stoppedAt(stop, store, take, () => take(other)));
          const units = ["a", "b", "one"].map((key) => 5 - other.peek(key, 0).remaining);
          assert.deepEqual(units, [1, 1, 2], `step ${stop}`);
          assert.equal(store.statistics().evictions, 0, `step ${stop}`);
          assert.deepEqual(audit(store.handle), NOTHING, `step ${stop}`);
        }
      });
    });
  }

  test("while another brings another key: at most one key more is held than there is room for", () => {
    whereObserved(() => {
      let most = 0;
      for (let stop = 0, steps = 1; stop < steps; stop++) {
        const store = storeOf(3, "evict");
        const other = limiterOn(store, five);
        for (const key of ["a", "b"]) other.consume(key);
        const taken = stoppedAt(stop, store, (own) => own.consume("one"), () => {
          for (const key of ["two", "three", "four"]) other.consume(key);
        });
        steps = Math.max(steps, taken);
        for (const key of ["five", "six"]) other.consume(key);
        most = Math.max(most, store.statistics({ full: true }).keys);
        assert.deepEqual(audit(store.handle), NOTHING, `step ${stop}`);
      }
      assert.equal(most, 4);
    });
  });
});
