import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import { RateLimitedError } from "../../../core/errors.ts";
import type { AsyncLimiter, Limiter } from "../../../core/limiter/limiter.ts";
import { type Law, law } from "../law.ts";
import type { MakeLimiter } from "./make_limiter.ts";
import type { Subject } from "../arbitraries/subject.ts";
import { inWords } from "../table.ts";
import { virtualClock } from "../virtual_clock.ts";
import { LAST_INSTANT } from "./visits.ts";

const ORIGIN = 1_790_000_123_457;

/** How waiting for one's turn goes. */
export function acquireLaws(make: MakeLimiter, subjects: fc.Arbitrary<Subject>): readonly Law[] {
  return [
    law(
      "acquire serves in turn, each as soon as the bare reducer admits it and its delay is over",
      fc.asyncProperty(subjects, queues(), async ({ algorithm }, shares) => {
        const costs = costsOf(algorithm, shares);
        const expected = startsOf(algorithm, costs);
        if (expected === undefined) return;
        const clock = virtualClock(ORIGIN);
        const limiter = await make(algorithm, clock);
        const served: unknown[] = [];
        costs.forEach((cost, i) => {
          const call = limiter.acquire("key", { cost });
          call.then(() => served[i] = clock(), (error) => served[i] = error);
        });
        await clock.pass(LAST_INSTANT - ORIGIN);
        expectSame(served.join(), expected.join());
        expectSame(clock.sleepers, 0);
      }),
    ),
    law(
      "an acquire that would wait longer than maxWait is refused at once, and takes nothing",
      fc.asyncProperty(subjects, queues(), async ({ algorithm }, shares) => {
        const costs = costsOf(algorithm, shares);
        const starts = startsOf(algorithm, costs);
        const wait = (starts?.at(-1) ?? 0) - ORIGIN;
        if (starts === undefined || wait <= 0) return;
        const clock = virtualClock(ORIGIN);
        const limiter = await make(algorithm, clock);
        const served: unknown[] = [];
        function inTurn(cost: number, maxWait: number): void {
          const call = limiter.acquire("key", { cost, maxWait });
          call.then(() => served.push(clock()), (error) => served.push(error));
        }
        for (const cost of costs.slice(0, -1)) inTurn(cost, Infinity);
        const last = costs.at(-1) as number;
        inTurn(last, wait - 1);
        await clock.pass(0);
        const place = served.findIndex((outcome) => outcome instanceof RateLimitedError);
        if (place === -1) throw new Error("Expected a refusal at once");
        served.splice(place, 1);
        inTurn(last, wait);
        await clock.pass(LAST_INSTANT - ORIGIN);
        expectSame(served.join(), starts.join());
      }),
    ),
    law(
      "one who gives up while queueing has taken nothing, and those behind move up",
      fc.asyncProperty(subjects, queues(), fc.nat(), async ({ algorithm }, shares, place) => {
        const costs = costsOf(algorithm, shares);
        const clock = virtualClock(ORIGIN);
        const limiter = await make(algorithm, clock);
        await limiter.consume("key", algorithm.capacity);
        const { step, initial } = algorithm;
        const full = step(initial, ORIGIN, algorithm.capacity)[1];
        const quitter = place % costs.length;
        const rest = costs.filter((_, i) => i !== quitter);
        const expected = startsOf(algorithm, rest, full);
        if (expected === undefined) return;
        const controller = new AbortController();
        const served: number[] = [];
        let quit: unknown;
        costs.forEach((cost, i) => {
          const signal = i === quitter ? controller.signal : undefined;
          const call = limiter.acquire("key", { cost, signal });
          call.then(() => served.push(clock()), (error) => quit = error);
        });
        await clock.pass(0);
        controller.abort();
        await clock.pass(LAST_INSTANT - ORIGIN);
        expectSame(quit, controller.signal.reason);
        expectSame(served.join(), expected.join());
      }),
    ),
    law(
      "what is given back, and a reset, wake the first in line",
      fc.asyncProperty(subjects, fc.boolean(), async ({ algorithm }, byReset) => {
        const clock = virtualClock(ORIGIN);
        const limiter = await make(algorithm, clock);
        await limiter.consume("key", algorithm.capacity);
        let served = false;
        limiter.acquire("key").then(() => served = true);
        await clock.pass(0);
        expectSame(served, false);
        await freeOne(limiter, byReset);
        await clock.pass(0);
        const left = await limiter.peek("key", 0);
        const expected = byReset ? algorithm.capacity - 1 : 0;
        if (left.remaining !== expected) {
          throw new Error(`Expected ${expected} left, not ${inWords(left)}`);
        }
        await clock.pass(byReset ? 0 : delayOfLast(algorithm));
        expectSame(served, true);
      }),
    ),
  ];
}

async function freeOne(limiter: Limiter | AsyncLimiter, byReset: boolean): Promise<void> {
  if (byReset) await limiter.reset("key");
  else await limiter.refund("key", 1);
}

/** Milliseconds that the last unit of a fresh key's capacity waits for its start. */
function delayOfLast({ step, initial, capacity }: Algorithm): number {
  if (capacity === 1) return 0;
  return step(step(initial, ORIGIN, capacity - 1)[1], ORIGIN, 1)[0].delay;
}

/** Shares of a capacity, in hundredths, that callers ask for. */
function queues(): fc.Arbitrary<number[]> {
  return fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 6 });
}

function costsOf({ capacity }: Algorithm, shares: readonly number[]): number[] {
  return shares.map((share) => Math.max(1, Math.floor(capacity * share / 100)));
}

/**
 * The instants at which calls start that come together at the origin and wait in turn; `undefined`
 * if that goes on past the last instant.
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

function expectSame(actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected)) throw new Error(`Expected ${expected}, not ${actual}`);
}
