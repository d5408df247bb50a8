import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import {
  type AsyncLimiter,
  consumeAll,
  type Decision,
  type Limiter,
  limiter,
  memoryStore,
} from "../../../mod.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { fcOptions } from "../../support/seed.ts";
import { names, policy } from "../../support/policies.ts";

/** A step of a trace, on keys of a few. */
type Step =
  | { readonly kind: "wait"; readonly milliseconds: number }
  | { readonly kind: "consume" | "peek" | "refund"; readonly key: string; readonly units: number }
  | { readonly kind: "reset"; readonly key: string }
  | { readonly kind: "both"; readonly units: number };

const key = fc.constantFrom("a", "b", "c");
const units = fc.integer({ min: 1, max: 20 });
const milliseconds = fc.oneof(fc.nat(5_000), fc.integer({ min: 5_000, max: 90_000_000 }));
const kind = fc.constantFrom(
  "consume" as const,
  "consume" as const,
  "peek" as const,
  "refund" as const,
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind, key, units }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), milliseconds }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reset" as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("both" as const), units }) },
);

const NOW = 1_790_000_000_000;

/** What a limiter says to each step of a trace. */
async function decisionsOf(
  make: (clock: () => number) => Limiter | AsyncLimiter,
  steps: readonly Step[],
): Promise<readonly (Decision | undefined)[]> {
  let now = NOW;
  const api = make(() => now) as AsyncLimiter;
  const seen: (Decision | undefined)[] = [];
  for (const each of steps) {
    if (each.kind === "wait") now += each.milliseconds;
    else if (each.kind === "reset") await api.reset(each.key);
    else if (each.kind === "both") {
      const keys = ["a", "b"].map((key) => ({ limiter: api, key, cost: each.units }));
      seen.push(await consumeAll(keys));
    } else seen.push(await api[each.kind](each.key, each.units));
  }
  return seen;
}

withRedis("the same trace", (_redis, { storeOf }) => {
  for (const commit of ["watch", "cas", "script"] as const) {
    for (const name of names) {
      test(`of ${name} is decided on Redis by ${commit} as in memory and in shared memory`, async () => {
        // Keys of two slots are one here: it is no cluster.
        const store = storeOf({ commit });
        const algorithm = policy(name, 50);
        let run = 0;
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
            const prefix = `${commit} ${run++}`;
            const memory = await decisionsOf(
              (clock) => limiter(algorithm, { store: memoryStore(), prefix, clock }),
              steps,
            );
            const shared = await decisionsOf((clock) => {
              const own = sharedStore({ capacity: 10, maxBytes: 2 ** 20, threads: 2 });
              return limiter(algorithm, { store: own, prefix, clock });
            }, steps);
            const remote = await decisionsOf(
              (clock) => limiter(algorithm, { store, prefix, clock }),
              steps,
            );
            assert.deepEqual(shared, memory);
            assert.deepEqual(remote, memory);
          }),
          fcOptions({ numRuns: 6 }),
        );
      });
    }
  }
});
