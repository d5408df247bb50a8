import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Algorithm,
  gcra,
  type Limiter,
  slidingLog,
  slidingWindow,
  StoreFullError,
} from "../../../mod.ts";
import {
  attachSharedStore,
  type SharedStore,
  sharedStore,
} from "../../../stores/shared/shared_store.ts";
import {
  attachMemory,
  BLOCK,
  BUCKET,
  field,
  header,
  INTENT,
  type Memory,
  SLOTS_PER_BUCKET,
} from "../../../stores/shared/layout.ts";
import { upTo } from "../../support/seed.ts";
import { audit, NOTHING } from "./support/audit.ts";
import { keysOfHome } from "./support/homes.ts";
import { consumeKeys, limiterOn, NOW } from "./support/limiter_on.ts";
import { steppedStore } from "./support/stepped.ts";
import { whereObserved } from "./support/observed_memory.ts";

const LIMIT = 3;
const KILLED = new Error("killed");

/** One algorithm for each form in which states lie in the store. */
const number: Algorithm = gcra({ limit: LIMIT, period: "1h", burst: LIMIT });
const algorithms: Readonly<Record<string, Algorithm>> = {
  number,
  log: slidingLog({ limit: LIMIT, period: "1h" }),
  tree: slidingWindow({ limit: LIMIT, period: 3_600_000, precision: 120_000 }),
};

/** The call in which a thread is stopped, and the keys that are held before it. */
interface Work {
  readonly held: readonly string[];
  readonly call: (api: Limiter) => void;
}

const calls: Readonly<Record<string, Work>> = {
  "a first call": { held: [], call: (api) => void api.consume("one") },
  "a later call": { held: ["one"], call: (api) => void api.consume("one") },
  "a reset": { held: ["one"], call: (api) => void api.reset("one") },
  "a call on two new keys": { held: [], call: (api) => void consumeKeys(api, "one", "two") },
  "a call on two keys": {
    held: ["one", "two"],
    call: (api) => void consumeKeys(api, "one", "two"),
  },
};

/** Stores by their sizes, with their memory as it is before anybody has used it. */
const unused = new Map<string, { readonly store: SharedStore; readonly words: Int32Array }>();

/** A store that nobody uses, and the last one of its sizes too: new memory takes far longer. */
function storeOf(threads: number, capacity = 12): SharedStore {
  const sizes = `${threads} ${capacity}`;
  const known = unused.get(sizes);
  if (known !== undefined) {
    attachMemory(known.store.handle.buffer).ints.set(known.words);
    return known.store;
  }
  // The maker's record is given back for the thread that is stopped.
  const store = sharedStore({ capacity, threads, maxBytes: 128 * 400 });
  store.close();
  // Keys fall into the same buckets in each run.
  const { ints } = attachMemory(store.handle.buffer);
  ints[header.hashKeyLow] = ints[header.hashKeyHigh] = 7;
  unused.set(sizes, { store, words: ints.slice() });
  return store;
}

/** A limiter of a newly attached thread; `undefined` if all records are locked in calls. */
function attached(store: SharedStore, algorithm: Algorithm): Limiter | undefined {
  try {
    return limiterOn(attachSharedStore(store.handle), algorithm);
  } catch (error) {
    assert.ok(error instanceof StoreFullError);
    return undefined;
  }
}

/** How many calls a limiter's key has been admitted, as the store answers. */
const used = (api: Limiter, key: string) => LIMIT - api.peek(key, 0).remaining;

/**
 * Runs `call` on a thread of its own, which is answered; before each step of the call, counted from
 * 0, `before` is called.
 */
function run(
  store: SharedStore,
  algorithm: Algorithm,
  { held, call }: Work,
  before: (step: number) => void,
): Limiter {
  let isInCall = false;
  let step = 0;
  const own = steppedStore(store.handle, () => {
    if (isInCall) before(step++);
  });
  const api = limiterOn(own, algorithm);
  for (const key of held) api.consume(key);
  isInCall = true;
  try {
    call(api);
  } catch (error) {
    if (error !== KILLED) throw error;
  }
  isInCall = false;
  return api;
}

/** How many steps a call takes. */
function stepsOf(
  store: SharedStore,
  algorithm: Algorithm,
  work: Work,
): number {
  let steps = 0;
  run(store, algorithm, work, () => void steps++);
  assert.ok(steps > 10);
  return steps;
}

/** Ends a thread at a step. */
function killAt(last: number): (step: number) => void {
  return (step) => {
    if (step >= last) throw KILLED;
  };
}

/** How a call ends early in a thread that goes on. */
const cuts: Readonly<Record<string, (last: number) => (step: number) => void>> = {
  // As when the stack overflows: what catches the error, or ends the call, does its work.
  "by an error": (last) => (step) => {
    if (step === last) throw KILLED;
  },
  // As when a time limit of `node:vm` ends it.
  "from outside": killAt,
};

/** A call that has not answered has either taken its units or not, and the store works as before. */
function survive(store: SharedStore, api: Limiter, isWhole: boolean, step: string): void {
  const keys = ["one", "two", "three", "four"];
  assert.ok(keys.every((key) => used(api, key) <= LIMIT), step);
  consumeKeys(api, "one", "three");
  for (let round = 0; round < LIMIT + 1; round++) {
    for (const key of keys) api.consume(key);
  }
  for (const key of keys) assert.equal(api.peek(key, 0).remaining, 0, step);
  assert.equal(store.statistics(NOW).keys, keys.length, step);
  const { uncounted, blocks, nodes } = audit(store.handle);
  if (isWhole) assert.deepEqual({ uncounted, blocks, nodes, records: 0 }, NOTHING, step);
  assert.ok(uncounted >= 0 && uncounted <= 1 && blocks <= 144 && nodes <= 112 + 20, step);
}

describe("a thread that is killed at any step", () => {
  for (const [form, algorithm] of Object.entries(algorithms)) {
    for (const [name, work] of Object.entries(calls)) {
      test(`of ${name}, ${form}: loses at most what is documented, and stops nobody`, () => {
        whereObserved(() => {
          const steps = stepsOf(storeOf(1), algorithm, work);
          for (const last of upTo(steps)) {
            for (const threads of [1, 2]) {
              const store = storeOf(threads);
              run(store, algorithm, work, killAt(last));
              // With one record, this thread has taken over the dead thread's, if it died between
              // calls.
              const api = attached(store, algorithm);
              assert.ok(threads === 1 || api !== undefined);
              if (api !== undefined) survive(store, api, threads === 1, `step ${last}`);
            }
          }
        });
      });

      for (const [how, cut] of Object.entries(cuts)) {
        test(`of ${name}, ${form}, ${how}, and lives on: the same`, () => {
          whereObserved(() => {
            const steps = stepsOf(storeOf(1), algorithm, work);
            for (const last of upTo(steps)) {
              const store = storeOf(2);
              const api = run(store, algorithm, work, cut(last));
              consumeKeys(api, "one", "three");
              api.reset("two");
              api.store.close();
              // Its record is given back, if it was not given up.
              const other = attachSharedStore(store.handle);
              survive(store, limiterOn(other, algorithm), false, `step ${last}`);
            }
          });
        });
      }
    }
  }

  /** Kills a thread at each step of a call on a number, on a store of that many keys. */
  function eachKill(
    work: Work,
    capacity: number,
    check: (api: Limiter, store: SharedStore, step: string) => void,
  ): void {
    whereObserved(() => {
      const steps = stepsOf(storeOf(2, capacity), number, work);
      for (let last = 0; last < steps; last++) {
        const store = storeOf(2, capacity);
        run(store, number, work, killAt(last));
        check(limiterOn(attachSharedStore(store.handle), number), store, `step ${last}`);
      }
    });
  }

  test("of a call on all keys of a full store leaves room for one of another bucket", () => {
    const { handle } = storeOf(1, 5);
    const keys = keysOfHome(handle, number, 0, 5);
    const [other] = keysOfHome(handle, number, 1, 1) as [string];
    eachKill({ held: keys, call: (api) => void consumeKeys(api, ...keys) }, 5, (api, _, step) => {
      assert.equal(api.consume(other).allowed, true, step);
    });
  });

  test("of an insertion or a reset may leave a key uncounted, which makes room for one more", () => {
    for (const work of ["a first call", "a reset"]) {
      let more = 0;
      eachKill(calls[work]!, 2, (api, store, step) => {
        const { uncounted } = audit(store.handle);
        more += uncounted;
        for (const key of ["two", "three", "four", "five"]) api.consume(key);
        assert.equal(store.statistics({ full: true }).keys, 2 + uncounted, step);
      });
      assert.ok(more > 0, work);
    }
  });

  test("of an insertion does not keep calls on two keys of its bucket from ending", () => {
    eachKill(calls["a first call"]!, 4, (api, _, step) => {
      assert.equal(consumeKeys(api, "one", "new"), true, step);
    });
  });
});

describe("a thread that stands still at any step", () => {
  for (const [form, algorithm] of Object.entries(algorithms)) {
    for (const [name, work] of Object.entries(calls)) {
      test(`of ${name}, ${form}: goes on as if nothing had happened`, () => {
        whereObserved(() => {
          for (const threads of [1, 2]) {
            // The other thread's calls may add a few steps.
            let steps = stepsOf(storeOf(threads), algorithm, work);
            for (const stop of upTo(2 * steps).filter((stop) => stop < steps)) {
              const store = storeOf(threads);
              let other: Limiter | undefined;
              run(store, algorithm, work, (step) => {
                if (step !== stop) return void (steps = Math.max(steps, step + 1));
                other = attached(store, algorithm);
                other?.consume("one");
                other?.reset("two");
                other?.consume("three");
              });
              goOn(store, other, name, `step ${stop}`);
            }
          }
        });
      });
    }
  }

  function goOn(store: SharedStore, other: Limiter | undefined, name: string, step: string): void {
    if (other === undefined) return;
    const units = used(other, "one");
    if (name === "a first call" || name === "a call on two new keys") assert.equal(units, 2, step);
    else if (name === "a reset") assert.ok(units === 0 || units === 1, step);
    else assert.equal(units, 3, step);
    assert.equal(used(other, "three"), 1, step);
    assert.deepEqual(audit(store.handle), NOTHING, step);
  }

  test("still reads the key of a block that has gone to the pool", () => {
    whereObserved(() => {
      const store = storeOf(4, 2_000);
      const memory = attachMemory(store.handle.buffer);
      let api: Limiter | undefined;
      let found = 0;
      let admitted = 0;
      const take = (own: Limiter) => {
        if (own.consume("key").allowed) admitted++;
      };
      const own = steppedStore(store.handle, (what, index, bytes) => {
        if (api === undefined || bytes !== 4) return;
        if (found === 0 && what === "load" && isIntent(memory, index)) {
          // It has found no tag of the key, which comes into the table only now.
          const before = new Set(blocksOf(memory));
          take(api);
          found = blocksOf(memory).find((block) => !before.has(block))!;
        } else if (found > 0 && what === "get" && index === memory.blocks + found * BLOCK) {
          found = -1;
          // The key's block is swapped out, and comes to the pool with others.
          take(api);
          for (let key = 280; key < 300; key++) api.reset(`${key}`);
        }
      });
      const stopped = limiterOn(own, number);
      const other = limiterOn(attachSharedStore(store.handle), number);
      // As many blocks as a thread holds.
      for (let key = 0; key < 300; key++) other.consume(`${key}`);
      for (let key = 0; key < 280; key++) other.reset(`${key}`);
      api = other;
      take(stopped);
      api = undefined;
      assert.equal(found, -1);
      for (let round = 0; round < LIMIT; round++) [stopped, other].forEach(take);
      assert.equal(admitted, LIMIT);
      assert.deepEqual(audit(store.handle), NOTHING);
    });
  });

  test("of attaching gets a record, whatever others that attach and call have taken meanwhile", () => {
    whereObserved(() => {
      for (let stop = 0, isDone = false; !isDone; stop++) {
        const store = sharedStore({ capacity: 12, threads: 3, maxBytes: 0 });
        const callers = [limiterOn(store, number)];
        let step = 0;
        const own = limiterOn(
          steppedStore(store.handle, () => {
            if (step++ === stop) callers.push(limiterOn(attachSharedStore(store.handle), number));
            for (const api of callers) api.consume("busy");
          }),
          number,
        );
        step = Infinity;
        isDone = callers.length === 1;
        for (const api of [own, ...callers]) api.consume("one");
        assert.equal(used(own, "one"), callers.length + 1, `step ${stop}`);
        assert.deepEqual(audit(store.handle), NOTHING, `step ${stop}`);
      }
    });
  });

  test("loses its record as often as it takes one, and works only with one of its own", () => {
    whereObserved(() => {
      const store = storeOf(1);
      const memory = attachMemory(store.handle.buffer);
      const lock = memory.records + field.announced;
      let other: Limiter | undefined;
      let takeovers = 0;
      let isAttaching = false;
      const own = steppedStore(store.handle, (what, index, bytes) => {
        if (bytes !== 4) return;
        if (what === "add" && index === header.owners) isAttaching = true;
        if (what === "compareExchange" && index === memory.records + field.owner) {
          isAttaching = false;
        }
        if (what === "compareExchange" && index === lock && !isAttaching && takeovers < 4) {
          takeovers++;
          other ??= attached(store, number);
          other!.consume("other");
        } else if (takeovers > 0 && what === "compareExchange" && isSlotWord(memory, index)) {
          assert.throws(() => other!.consume("another"), StoreFullError);
        }
      });
      limiterOn(own, number).consume("one");
      assert.equal(takeovers, 4);
      assert.equal(used(other!, "one"), 1);
      assert.equal(used(other!, "other"), LIMIT);
      assert.deepEqual(audit(store.handle), NOTHING);
    });
  });
});

const isSlotWord = (memory: Memory, index: number) =>
  index >= memory.buckets && index < memory.records;
const isIntent = (memory: Memory, index: number) =>
  isSlotWord(memory, index) && (index - memory.buckets) % BUCKET === INTENT;

/** The blocks that the slots name. */
function blocksOf(memory: Memory): number[] {
  return Array.from(
    memory.ints.subarray(memory.buckets, memory.records),
    (word, at) => at % BUCKET < SLOTS_PER_BUCKET ? word & memory.blockMask : 0,
  ).filter((block) => block !== 0);
}
