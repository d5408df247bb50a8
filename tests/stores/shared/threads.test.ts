import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { after, before, describe, test } from "node:test";
import { linearization } from "../../../adapters/testing/testing.ts";
import { type SharedStore, sharedStore } from "../../../stores/shared/shared_store.ts";
import { audit, NOTHING } from "./support/audit.ts";
import { limiterOn } from "./support/limiter_on.ts";
import { startWorkers, type WorkerPool } from "./support/workers.ts";
import type { SeenCall } from "./support/jobs.ts";
import { isLong } from "../../support/seed.ts";
import { names, policy } from "../../support/policies.ts";

/** Units that threads take together from one key, and calls that each makes on many keys. */
const [LIMIT, CALLS] = isLong() ? [3_001, 60_000] : [301, 10_000];

describe("threads on one shared store", () => {
  const store = sharedStore({ capacity: 20_000 });
  let workers: WorkerPool;
  let round = 0;

  before(async () => {
    workers = await startWorkers(store, 4);
  });
  after(() => workers.stop());

  for (const size of [2, 4]) {
    test(
      `${size} threads on one key are admitted exactly the limit, by every algorithm`,
      async () => {
        for (const name of names) {
          const key = `hot ${round++}`;
          const admitted = await workers.run<number>(size, () => {
            return { kind: "hammer", policy: name, limit: LIMIT, key };
          });
          const capacity = policy(name, LIMIT).capacity;
          assert.equal(admitted.reduce((a, b) => a + b), capacity, `${name}: ${admitted}`);
        }
      },
    );
  }

  test("no key of 10,000 by Zipf's law is admitted more than its limit", async () => {
    const limit = 20;
    const keys = 10_000;
    const admitted = await workers.run<number[]>(4, () => {
      return { kind: "zipf", limit, keys, calls: CALLS };
    });
    const sums = admitted[0]!.map((_, key) => admitted.reduce((sum, own) => sum + own[key]!, 0));
    assert.ok(sums.every((sum) => sum <= limit));
    assert.ok(sums.filter((sum) => sum === limit).length > 100);
    assert.equal(store.statistics(0).evictions, 0);
  });

  test(
    "a store that threads fill to the last place neither forgets nor refuses a key",
    async () => {
      for (const onFull of ["throw", "evict"] as const) {
        const own = sharedStore({ capacity: 2_000, maxBytes: 0, onFull });
        await workers.attach(2, own);
        const errors = await workers.run<number>(2, (thread) => {
          return { kind: "fill", limit: 3, keys: 1_000, name: `${thread}` };
        });
        await workers.attach(2, store);
        assert.deepEqual(errors, [0, 0]);
        expectFilled(own);
      }
    },
  );

  test("a store that grows while threads fill it holds all that it says", async () => {
    const own = sharedStore({ capacity: 100, maxCapacity: 2_000, maxBytes: 0, onFull: "throw" });
    await workers.attach(2, own);
    const filled = workers.run(2, (thread) => {
      return { kind: "fill", limit: 3, keys: 1_000, name: `${thread}` };
    });
    for (let capacity = 200; capacity <= 2_000; capacity += 200) {
      own.grow(capacity);
      while (own.statistics().keys < capacity) await new Promise((resolve) => setTimeout(resolve));
    }
    await filled;
    await workers.attach(2, store);
    expectFilled(own);
  });

  test("calls on several keys at once are all or nothing, and meet single calls", async () => {
    const limit = 2_000;
    for (let again = 0; again < 3; again++) {
      const keys = [`left ${round}`, `right ${round++}`] as const;
      const admitted = await workers.run<number[]>(4, (place) => {
        return { kind: "pairs", limit, keys: place % 2 === 0 ? keys : [keys[1], keys[0]] };
      });
      const used = [0, 0];
      admitted.forEach(([both = 0, one = 0, other = 0], index) => {
        used[index % 2]! += both + one;
        used[1 - index % 2]! += both + other;
      });
      assert.deepEqual(used, [limit, limit]);
    }
  });

  for (const isMoving of [false, true]) {
    const clock = isMoving ? "a clock that they move" : "one clock";
    test(
      `the answers that threads got on a key, by ${clock}, are explained by calls in some order`,
      async () => {
        let overlapping = 0;
        // On a busy machine threads seldom run at once; then there are more rounds.
        for (let rounds = 0; rounds === 0 || (overlapping < 20 && rounds < 20); rounds++) {
          for (const name of names) {
            for (const [size, limit] of [[2, 5], [2, 60], [3, 40]] as const) {
              const key = `recorded ${round++}`;
              const seen = await workers.run<SeenCall[]>(size, () => {
                return { kind: "record", policy: name, limit, key, calls: 120, isMoving };
              });
              const history = seen.flat();
              overlapping += overlaps(history);
              const order = linearization(policy(name, limit), history);
              assert.notEqual(order, undefined, `${name}, limit ${limit}: no order explains them`);
            }
          }
        }
        // One core runs one thread at a time, and switches between calls more often than within one.
        assert.ok(overlapping > 0 || availableParallelism() === 1, "no two calls overlapped");
      },
    );
  }
});

/** Each of 2,000 keys that two threads have put in is there, used once. */
function expectFilled(store: SharedStore): void {
  const { keys, evictions } = store.statistics({ full: true });
  assert.deepEqual([keys, evictions], [2_000, 0]);
  assert.deepEqual(audit(store.handle), NOTHING);
  const api = limiterOn(store, policy("gcra", 3));
  for (let key = 0; key < 2_000; key++) {
    const name = `${key % 2} ${Math.floor(key / 2)}`;
    assert.equal(api.peek(name, 0).remaining, 2, name);
  }
}

/** How many calls were made while another was under way. */
function overlaps(history: readonly SeenCall[]): number {
  const sorted = [...history].sort((a, b) => a.start - b.start);
  return sorted.filter((call, index) => index > 0 && call.start < sorted[index - 1]!.end).length;
}
