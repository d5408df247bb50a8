import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import {
  acquire,
  type Algorithm,
  all,
  gcra,
  leakyQueue,
  limiter,
  memoryStore,
  RateLimitedError,
} from "../../../mod.ts";
import { fallback } from "../../../stores/layered/layered.ts";
import { type Answers, atOnce, away, byPromise, probe } from "./probe.ts";

const KINDS = { "at once": atOnce, "by promises": byPromise };

/** The outcome of a call, and its instant. */
type Ended = readonly [outcome: string, at: number];

/** A limiter whose first store is away, and calls on it that report their outcomes and instants. */
function waitingOn(
  answers: Answers,
  algorithm: Algorithm = gcra({ limit: 100, period: 60_000, burst: 100 }),
  share = 1 / 4,
) {
  const clock = virtualClock(1_000_000);
  const first = probe(answers);
  first.failure = away;
  const store = fallback(first.store, memoryStore(), { share });
  const api = limiter(algorithm, { store, prefix: "a", clock });
  async function call(options: Parameters<typeof acquire>[2]): Promise<Ended> {
    const start = clock();
    try {
      await acquire(api, "k", options);
      return ["admitted", clock() - start];
    } catch (error) {
      assert.ok(error instanceof RateLimitedError || options?.signal?.aborted, String(error));
      const wait = error instanceof RateLimitedError ? ` ${error.decision.retryAfter}` : "";
      return [`refused${wait}`, clock() - start];
    }
  }
  return { api, clock, first, call };
}

for (const [kind, answers] of Object.entries(KINDS)) {
  describe(`waiting for a share of a limit that answers ${kind}`, () => {
    test("refuses a caller that asks for more than the share can hold, and serves the callers behind", async () => {
      const { clock, call } = waitingOn(answers);
      const calls = [
        call({ cost: 50 }),
        call({ cost: 50, maxWait: 1_000 }),
        call({ cost: 25 }),
        call({}),
      ];
      await clock.pass(10_000);
      assert.deepEqual(await Promise.all(calls), [
        ["refused Infinity", 0],
        ["refused Infinity", 0],
        ["admitted", 0],
        ["admitted", 2_400],
      ]);
    });

    test("refuses a caller at once that cannot be served in time at the share's pace", async () => {
      const { api, clock, call } = waitingOn(answers);
      await api.consume("k", 25);
      const calls = [
        call({ maxWait: 2_399 }),
        call({ maxWait: 2_400 }),
        call({ maxWait: 1_000 }),
        call({}),
      ];
      await clock.pass(10_000);
      assert.deepEqual(await Promise.all(calls), [
        ["refused 2400", 0],
        ["admitted", 2_400],
        ["refused 2400", 0],
        ["admitted", 4_800],
      ]);
    });

    test("continues on the first store once that is back", async () => {
      const { api, clock, first, call } = waitingOn(answers);
      await api.consume("k", 25);
      const calls = [call({}), call({ cost: 50 })];
      await clock.pass(1_000);
      first.failure = undefined;
      await clock.pass(10_000);
      assert.deepEqual(await Promise.all(calls), [["admitted", 2_400], ["admitted", 2_400]]);
    });

    for (const nested of [false, true]) {
      const queue = leakyQueue({ limit: 2, period: 2_000, queue: 7 });
      const rate = gcra({ limit: 100, period: 60_000, burst: 100 });
      const algorithm = nested ? all(rate, queue) : queue;

      test(`waits out the delay of ${algorithm.id}, and gives back the newest place`, async () => {
        const { api, clock, call } = waitingOn(answers, algorithm, 1 / 2);
        const leaver = new AbortController();
        const calls = [
          call({}),
          call({}),
          call({ maxWait: 3_999 }),
          call({ signal: leaver.signal }),
        ];
        await clock.pass(100);
        assert.equal((await api.peek("k", 0)).remaining, 1);
        leaver.abort();
        await clock.pass(0);
        assert.equal((await api.peek("k", 0)).remaining, 2);
        await clock.pass(10_000);
        assert.deepEqual(await Promise.all(calls), [
          ["admitted", 0],
          ["admitted", 2_000],
          ["refused 4000", 0],
          ["refused", 100],
        ]);
      });
    }
  });
}
