import assert from "node:assert/strict";
import fc from "fast-check";
import { type Law, law } from "../../../../adapters/testing/law.ts";
import { StoreFullError } from "../../../../mod.ts";
import {
  attachSharedStore,
  type SharedStore,
  sharedStore,
} from "../../../../stores/shared/shared_store.ts";
import { attachMemory } from "../../../../stores/shared/layout.ts";
import { audit, NOTHING } from "./audit.ts";
import { consumeKeys, limiterOn, NOW } from "./limiter_on.ts";
import { names, policy } from "../../../support/policies.ts";

/** A step of a random run on a store with several threads, and what its kind may need. */
const step = fc.record({
  kind: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom("consume", "consume", "reset", "refund") },
    // Takes from several keys at once; takes from that many keys, or forgets them.
    { weight: 4, arbitrary: fc.constantFrom("all", "all", "many", "none") },
    // Lets time pass; lets the store hold that many more keys; opens a thread's store again.
    { weight: 3, arbitrary: fc.constantFrom("wait", "grow", "attach") },
  ),
  thread: fc.nat(3),
  policy: fc.nat(names.length - 1),
  key: fc.nat(60),
  keys: fc.uniqueArray(fc.nat(60), { minLength: 1, maxLength: 12 }),
  count: fc.nat(400),
  milliseconds: fc.constantFrom(1, 60_000, 3_600_000, 100_000_000),
});

type Step = typeof step extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** The laws of a store's memory, which hold after any calls. */
export const memoryLaws: readonly Law[] = [
  law(
    "any calls of any threads on a narrow store keep each block and node in one place",
    fc.property(
      fc.array(step, { minLength: 20, maxLength: 200 }),
      fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(500)),
      fc.oneof(fc.integer({ min: 40, max: 300 }), fc.constant(4_000)),
      fc.constantFrom("evict" as const, "throw" as const),
      (steps, capacity, nodes, onFull) => {
        const maxCapacity = 3 * capacity;
        const sizes = { capacity, maxCapacity, maxBytes: nodes * 128 };
        const store = sharedStore({ ...sizes, onFull, threads: 6 });
        const now = { value: NOW };
        const threads = Array.from({ length: 4 }, () => attachSharedStore(store.handle));
        for (const each of steps) {
          try {
            perform(each, threads, store, now);
          } catch (error) {
            assert.ok(error instanceof StoreFullError, String(error));
          }
        }
        assert.deepEqual(audit(store.handle), NOTHING);
        const statistics = store.statistics(now.value);
        return statistics.keys <= statistics.capacity && statistics.capacity <= maxCapacity;
      },
    ),
  ),
];

function perform(
  { kind, thread: index, policy: name, key, keys, count, milliseconds }: Step,
  threads: SharedStore[],
  store: SharedStore,
  now: { value: number },
): void {
  const thread = threads[index]!;
  const own = limiterOn(thread, policy(names[name]!, 50), () => now.value);
  switch (kind) {
    case "wait":
      now.value += milliseconds;
      return;
    case "attach":
      thread.close();
      threads[index] = attachSharedStore(store.handle);
      return;
    case "grow": {
      const { maxCapacity } = attachMemory(store.handle.buffer);
      return thread.grow(Math.min(maxCapacity, thread.statistics().capacity + count % 21));
    }
    case "all":
      return void consumeKeys(own, ...keys.map((each) => `key ${each}`));
    case "many":
    case "none":
      for (let each = 0; each < count; each++) {
        if (kind === "many") own.consume(`key ${each}`);
        else own.reset(`key ${each}`);
      }
      return;
    case "reset":
      return own.reset(`key ${key}`);
    default:
      own[kind as "consume" | "refund"](`key ${key}`, 3);
  }
}
