import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  acquire,
  type AsyncLimiter,
  consumeAll,
  type Decision,
  gcra,
  leakyQueue,
  type Limiter,
  limiter,
  type LimiterOptions,
  memoryStore,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { FAILURE, printedBy, WAYS_TO_FAIL } from "../../support/failing_callbacks.ts";
import { virtualClock } from "../../../adapters/testing/testing.ts";

const rate = { limit: 2, period: "1m", burst: 2 } as const;

/** Makes limiters on stores of both kinds. */
const KINDS: Readonly<Record<string, (options: LimiterOptions) => Limiter | AsyncLimiter>> = {
  "that answers at once": (options) =>
    limiter(gcra(rate), {
      ...options,
      store: memoryStore(),
      prefix: "a",
      clock: virtualClock(1_764_000_000_000),
    }),
  "that answers by promises": (options) =>
    limiter(gcra(rate), {
      ...options,
      store: asyncMemoryStore(),
      prefix: "a",
      clock: virtualClock(1_764_000_000_000),
    }),
};

/** The answer of each method, or its error. */
async function answersOf(made: Limiter | AsyncLimiter): Promise<unknown[]> {
  const calls: (() => Decision | Promise<Decision>)[] = [
    () => made.consume("key"),
    () => made.consume("key", 3),
    () => made.refund("key"),
    () => acquire(made, "key"),
    () => acquire(made, "key", { cost: 0 }),
    () => acquire(made, "key", { cost: 2, maxWait: 0 }),
    () => consumeAll([{ limiter: made as Limiter, key: "key" }]),
    () => made.peek("key", 0),
  ];
  const answers: unknown[] = [];
  for (const call of calls) {
    try {
      answers.push(await call());
    } catch (error) {
      answers.push(String(error));
    }
  }
  return answers;
}

for (const [kind, make] of Object.entries(KINDS)) {
  for (const [way, fail] of Object.entries(WAYS_TO_FAIL)) {
    describe(`a limiter on a store ${kind}, whose onDecision ${way},`, () => {
      test("answers as without it, and reports each failure to onFailure", async () => {
        const expected = await answersOf(make({}));
        const failures: unknown[] = [];
        const onFailure = (error: unknown, key: string) => void failures.push([error, key]);
        const printed = await printedBy(async () => {
          assert.deepEqual(await answersOf(make({ onDecision: fail, onFailure })), expected);
        });
        assert.deepEqual(failures, Array(7).fill([FAILURE, "key"]));
        assert.deepEqual(printed, []);
      });

      test("prints the first failure where there is no onFailure", async () => {
        const printed = await printedBy(() => answersOf(make({ onDecision: fail })));
        assert.equal(printed.length, 1);
        assert.ok(printed[0]!.includes(FAILURE));
      });
    });

    test(`onFailure that ${way} changes nothing, on a store ${kind}`, async () => {
      const expected = await answersOf(make({}));
      const printed = await printedBy(async () => {
        assert.deepEqual(await answersOf(make({ onDecision: fail, onFailure: fail })), expected);
      });
      assert.equal(printed.length, 1);
    });
  }
}

test("an asynchronous onDecision that succeeds is nobody's failure", async () => {
  const seen: number[] = [];
  const made = limiter(leakyQueue({ limit: 1, period: "1m", queue: 0 }), {
    onDecision: async (_decision, _key, cost) => {
      await Promise.resolve();
      seen.push(cost);
    },
  });
  assert.deepEqual(await printedBy(() => made.consume("key")), []);
  assert.deepEqual(seen, [1]);
});
