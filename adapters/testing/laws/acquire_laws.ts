/*
 * The laws of waiting in `acquire`: order, `maxWait`, aborts and wake-ups. A virtual clock makes
 * start times exact, so each is compared to the millisecond with the bare reducer's answer.
 */

import { LAST_INSTANT } from "../../../core/options/checks.ts";
import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import { RateLimitedError } from "../../../core/errors.ts";
import type { AcquireOptions } from "../../../core/waiting/acquire.ts";
import type { Subject } from "../arbitraries/subjects.ts";
import { type Law, law } from "../law.ts";
import { virtualClock } from "../virtual_clock.ts";
import { expectSame } from "./expect_same.ts";
import { acquireOn, type MakeLimiter } from "./call_laws.ts";

const ORIGIN = 1_790_000_123_457;

/** A fresh key on a virtual clock, for callers to queue on. */
async function queueOn(make: MakeLimiter, algorithm: Algorithm) {
  const clock = virtualClock(ORIGIN);
  const limiter = await make(algorithm, clock);
  /** When each caller was served, or why not. */
  const outcomes: unknown[] = [];
  return {
    algorithm,
    limiter,
    outcomes,
    /** Adds a caller to the queue. */
    join(cost: number, options?: AcquireOptions): void {
      const i = outcomes.push(undefined) - 1;
      const call = acquireOn(limiter, "key", { cost, ...options });
      call.then(() => outcomes[i] = clock(), (error) => outcomes[i] = error);
    },
    /** Lets time pass: without a number, until the last instant, when no timer may be left. */
    async pass(milliseconds?: number): Promise<void> {
      await clock.pass(milliseconds ?? LAST_INSTANT - ORIGIN);
      if (milliseconds === undefined) expectSame(clock.sleepers, 0, "timers:");
    },
  };
}

/** Each law compares when callers start with the instants that the reducer gives. */
export function acquireLaws(make: MakeLimiter, subjects: fc.Arbitrary<Subject>): readonly Law[] {
  /** A law of callers by their costs; `n` is any number. */
  function queueLaw(
    name: string,
    holds: (
      queue: Awaited<ReturnType<typeof queueOn>>,
      costs: number[],
      n: number,
    ) => Promise<void>,
  ): Law {
    const shares = fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 6 });
    return law(
      name,
      fc.asyncProperty(subjects, shares, fc.nat(), async ({ algorithm }, hundredths, n) => {
        const costs = hundredths.map((share) =>
          Math.max(1, Math.floor(algorithm.capacity * share / 100))
        );
        await holds(await queueOn(make, algorithm), costs, n);
      }),
    );
  }
  return [
    queueLaw(
      "acquire serves in turn, each as soon as the bare reducer admits it and its delay is over",
      async ({ algorithm, outcomes, join, pass }, costs) => {
        const starts = startsOf(algorithm, costs);
        if (starts === undefined) return;
        for (const cost of costs) join(cost);
        await pass();
        expectSame(outcomes.join(), starts.join(), "starts at");
      },
    ),
    queueLaw(
      "an acquire that would wait longer than maxWait is refused at once, and takes nothing",
      async ({ algorithm, outcomes, join, pass }, costs) => {
        const starts = startsOf(algorithm, costs);
        const wait = (starts?.at(-1) ?? 0) - ORIGIN;
        if (starts === undefined || wait <= 0) return;
        const last = costs.pop() as number;
        for (const cost of costs) join(cost, { maxWait: Infinity });
        join(last, { maxWait: wait - 1 });
        await pass(0);
        const refused = outcomes.pop() instanceof RateLimitedError;
        if (!refused) throw new Error("Expected a refusal at once");
        join(last, { maxWait: wait });
        await pass();
        expectSame(outcomes.join(), starts.join(), "starts at");
      },
    ),
    queueLaw(
      "a call that is aborted in the queue has taken nothing, and those behind move up",
      async ({ algorithm, limiter, outcomes, join, pass }, costs, n) => {
        const { step, initial, capacity } = algorithm;
        const aborted = n % costs.length;
        const others = costs.filter((_, i) => i !== aborted);
        const starts = startsOf(algorithm, others, step(initial, ORIGIN, capacity)[1]);
        if (starts === undefined) return;
        await limiter.consume("key", capacity);
        const controller = new AbortController();
        const { signal } = controller;
        costs.forEach((cost, i) => join(cost, i === aborted ? { signal } : {}));
        await pass(0);
        controller.abort();
        await pass();
        expectSame(outcomes.splice(aborted, 1)[0], signal.reason, "the abort's reason");
        expectSame(outcomes.join(), starts.join(), "starts at");
      },
    ),
    queueLaw(
      "what is given back, and a reset, wake the first in the queue",
      async ({ algorithm, limiter, outcomes, join, pass }, _costs, n) => {
        const byReset = n % 2 === 1;
        await limiter.consume("key", algorithm.capacity);
        join(1);
        await pass(0);
        expectSame(outcomes[0], undefined, "a waiting call:");
        await (byReset ? limiter.reset("key") : limiter.refund("key", 1));
        await pass(0);
        const { remaining } = await limiter.peek("key", 0);
        expectSame(remaining, byReset ? algorithm.capacity - 1 : 0, "left:");
        const delay = byReset ? 0 : delayOfLast(algorithm);
        await pass(delay);
        expectSame(outcomes[0], ORIGIN + delay, "a start at");
      },
    ),
  ];
}

/** Milliseconds that the last unit of a fresh key's capacity waits for its start. */
function delayOfLast({ step, initial, capacity }: Algorithm): number {
  if (capacity === 1) return 0;
  return step(step(initial, ORIGIN, capacity - 1)[1], ORIGIN, 1)[0].delay;
}

/**
 * When calls start that all arrive at the origin and are served in turn; `undefined` if one would
 * start after the last instant.
 */
function startsOf(
  { step, initial }: Algorithm,
  costs: readonly number[],
  from: unknown = initial,
): number[] | undefined {
  const starts: number[] = [];
  let state = from;
  let now = ORIGIN;
  for (const cost of costs) {
    now += step(state, now, cost)[0].retryAfter;
    if (now > LAST_INSTANT) return undefined;
    const [decision, next] = step(state, now, cost);
    state = next;
    starts.push(now + decision.delay);
  }
  return starts.every((start) => start <= LAST_INSTANT) ? starts : undefined;
}
