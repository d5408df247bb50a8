import assert from "node:assert/strict";
import fc from "fast-check";
import { type Law, law } from "../../../../adapters/testing/law.ts";
import { consumeAll, limiter, StoreFullError } from "../../../../mod.ts";
import {
  attachSharedStore,
  type SharedStore,
  sharedStore,
} from "../../../../stores/shared/shared_store.ts";
import { attachMemory } from "../../../../stores/shared/layout.ts";
import { audit } from "./audit.ts";
import { NOW } from "./jobs.ts";
import { names, policy } from "../../../support/policies.ts";

/** Nothing lost. */
export const NOTHING: ReturnType<typeof audit> = { places: 0, blocks: 0, nodes: 0, records: 0 };

/** A step of a random run on a store with several threads. */
type Step =
  | { readonly kind: "consume" | "reset" | "refund"; readonly key: number; readonly policy: number }
  /** Takes from so many keys, or forgets them. */
  | { readonly kind: "many" | "none"; readonly count: number; readonly policy: number }
  /** Lets the store hold so many keys more. */
  | { readonly kind: "grow"; readonly keys: number }
  | { readonly kind: "all"; readonly keys: readonly number[]; readonly policy: number }
  | { readonly kind: "wait"; readonly milliseconds: number }
  | { readonly kind: "close" | "attach" };

const step: fc.Arbitrary<Step & { readonly thread: number }> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "consume" as const,
        "consume" as const,
        "reset" as const,
        "refund" as const,
      ),
      key: fc.nat(60),
      policy: fc.nat(names.length - 1),
      thread: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("all" as const),
      keys: fc.uniqueArray(fc.nat(60), { minLength: 1, maxLength: 12 }),
      policy: fc.nat(names.length - 1),
      thread: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("many" as const, "none" as const),
      count: fc.nat(400),
      policy: fc.nat(names.length - 1),
      thread: fc.nat(3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      milliseconds: fc.constantFrom(1, 60_000, 3_600_000, 100_000_000),
      thread: fc.constant(0),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("grow" as const),
      keys: fc.nat(20),
      thread: fc.nat(3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("close" as const, "attach" as const),
      thread: fc.nat(3),
    }),
  },
);

/** What holds of a store's memory, whatever is done on it. */
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
  each: Step & { readonly thread: number },
  threads: SharedStore[],
  store: SharedStore,
  now: { value: number },
): void {
  const thread = threads[each.thread]!;
  const options = { store: thread, prefix: "test", clock: () => now.value };
  switch (each.kind) {
    case "wait":
      now.value += each.milliseconds;
      return;
    case "close":
    case "attach":
      thread.close();
      threads[each.thread] = attachSharedStore(store.handle);
      return;
    case "grow": {
      const { capacity } = thread.statistics();
      const { maxCapacity } = attachMemory(store.handle.buffer);
      thread.grow(Math.min(maxCapacity, capacity + each.keys));
      return;
    }
    case "all": {
      const own = limiter(policy(names[each.policy]!, 50), options);
      consumeAll(each.keys.map((key) => ({ limiter: own, key: `key ${key}` })));
      return;
    }
    case "many":
    case "none": {
      const own = limiter(policy(names[each.policy]!, 50), options);
      for (let key = 0; key < each.count; key++) {
        if (each.kind === "many") own.consume(`key ${key}`);
        else own.reset(`key ${key}`);
      }
      return;
    }
    default: {
      const own = limiter(policy(names[each.policy]!, 50), options);
      if (each.kind === "reset") own.reset(`key ${each.key}`);
      else own[each.kind](`key ${each.key}`, 3);
    }
  }
}
