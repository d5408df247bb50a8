import assert from "node:assert/strict";
import fc from "fast-check";
import type { SyncStore } from "../../../../core/store.ts";
import { type Law, law } from "../../../../adapters/testing/law.ts";
import {
  type Algorithm,
  type Limiter,
  memoryStore,
  slidingLog,
  slidingWindow,
} from "../../../../mod.ts";
import { attachSharedStore, sharedStore } from "../../../../stores/shared/shared_store.ts";
import { audit, NOTHING } from "./audit.ts";
import { limiterOn, NOW } from "./limiter_on.ts";

/** Windows of each form and number of levels in the store. */
const windows: Readonly<Record<string, Algorithm>> = {
  "a window in counted form": slidingWindow({ limit: 100_000, period: 60_000, precision: 1_000 }),
  "a window of one level": slidingWindow({ limit: 100_000, period: 200_000, precision: 1_000 }),
  "a window of two levels": slidingWindow({ limit: 100_000, period: "1h", precision: 1_000 }),
  "a window of three levels": slidingWindow({
    limit: 100_000,
    period: 30_000_000,
    precision: 1_000,
  }),
  "a log of one level": slidingLog({ limit: 100, period: 10_000 }),
  "a log of few units": slidingLog({ limit: 3, period: 1_000 }),
  "a window of few units": slidingWindow({ limit: 3, period: 1_000, precision: 10 }),
  "a log of three levels": slidingLog({ limit: 20_000, period: "1h" }),
};

/** A call: how far the clock moves first, as a part of the period, and what is taken or given back. */
const call = fc.record({
  wait: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(0, 0, 1, 7, 250, 999) },
    { weight: 2, arbitrary: fc.integer({ min: 1_000, max: 40_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 40_000, max: 40_000_000 }) },
  ),
  cost: fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 20 }) },
    // More than is kept beside a tree's root.
    { weight: 2, arbitrary: fc.integer({ min: 4_000, max: 12_000 }) },
    { weight: 2, arbitrary: fc.integer({ min: -30, max: 0 }) },
    { weight: 1, arbitrary: fc.integer({ min: -30_000, max: -1_000 }) },
  ),
  // Whether it also takes units beyond the limit.
  isCharged: fc.nat(3).map((n) => n === 0),
  // Whether another thread takes one unit while the call is under way.
  isRaced: fc.nat(4).map((n) => n === 0),
});

const calls = fc.array(call, { minLength: 10, maxLength: 150 });

/** Windows and logs in shared memory answer as those of one process, calls that lose a race too. */
export const windowLaws: readonly Law[] = Object.entries(windows).map(([name, algorithm]) =>
  law(
    `${name} answers as in memory`,
    // Windows near the epoch reach back to buckets below 0.
    fc.property(calls, fc.constantFrom(NOW, NOW, 0), (calls, start) => {
      const store = sharedStore({ capacity: 10, maxBytes: 2 ** 20, threads: 3 });
      const now = { value: start };
      const on = (each: SyncStore, by = algorithm) => limiterOn(each, by, () => now.value);
      let meanwhile = () => {};
      const shared = on(store, interrupted(algorithm, () => meanwhile()));
      const other = on(attachSharedStore(store.handle));
      const memory = on(memoryStore());
      for (const { wait, cost, isCharged, isRaced } of calls) {
        now.value += wait;
        // A call on an absent key comes before a call that inserts it.
        if (isRaced && memory.peek("key", 0).remaining < algorithm.capacity) {
          meanwhile = () => {
            meanwhile = () => {};
            assert.deepEqual(perform(other, 1), perform(memory, 1));
          };
        }
        assert.deepEqual(perform(shared, cost, isCharged), perform(memory, cost, isCharged));
      }
      assert.deepEqual(audit(store.handle), NOTHING);
      return true;
    }),
  )
);

function perform(
  { consume, charge, refund, peek }: Limiter,
  cost: number,
  isCharged = false,
): unknown {
  if (cost < 0) return refund("key", -cost);
  if (cost === 0) return peek("key", 1);
  return isCharged ? charge("key", cost) : consume("key", cost);
}

/** The algorithm, with a call of `meanwhile` between each of its steps and what comes of it. */
export function interrupted(algorithm: Algorithm, meanwhile: () => void): Algorithm {
  const { take, decide, charge } = algorithm.internals!.halves!;
  const halves = {
    take(...given: Parameters<typeof take>) {
      const next = take(...given);
      meanwhile();
      return next;
    },
    decide,
    charge,
  };
  return { ...algorithm, internals: { ...algorithm.internals, halves } };
}
