/*
 * Callers of permits that do what they should not: work that throws or is none, signals aborted at any
 * moment, stores that fail at any moment. Nothing may stay held that nobody holds.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import {
  type AsyncLimiter,
  concurrency,
  hold,
  limiter,
  StoreUnavailableError,
  withPermit,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";
import { fcOptions } from "../../support/seed.ts";
import { testClock } from "../../support/test_clock.ts";

const TTL = 900;
const LIMIT = 2;

/** One caller: the time and the cost of its call, and the delays and faults of the store. */
interface Caller {
  readonly cost: number;
  readonly startsAt: number;
  readonly maxWait: number | undefined;
  /** When its signal is aborted; `undefined` if never. */
  readonly abortsAt: number | undefined;
  readonly works: number;
  readonly ending: "answers" | "throws" | "rejects" | "until it is aborted";
  /** How long the store takes for each of the calls, and which of them fail, before or after. */
  readonly delays: readonly number[];
  readonly faults: readonly ("no" | "before" | "after")[];
}

const caller: fc.Arbitrary<Caller> = fc.record({
  cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: LIMIT + 1 })),
  startsAt: fc.nat(300),
  maxWait: fc.option(fc.nat(600), { nil: undefined }),
  abortsAt: fc.option(fc.nat(900), { nil: undefined }),
  works: fc.oneof(fc.constant(0), fc.nat(400), fc.constant(4 * TTL)),
  ending: fc.constantFrom("answers", "throws", "rejects", "until it is aborted"),
  delays: fc.array(fc.nat(60), { minLength: 1, maxLength: 6 }),
  faults: fc.array(fc.constantFrom("no", "no", "no", "before", "after"), {
    minLength: 1,
    maxLength: 6,
  }),
});

/** A limiter on a store whose calls take time, and fail when the test says so. */
function slowJobs(callers: readonly Caller[], faulty: boolean) {
  const clock = testClock();
  const delays = callers.flatMap((one) => one.delays);
  const faults = callers.flatMap((one) => one.faults);
  let calls = 0;
  let isOver = false;
  const store = interceptedStore(asyncMemoryStore(), async (_seen, proceed) => {
    const call = calls++;
    if (isOver) return proceed();
    const fault = faulty ? faults[call % faults.length] : "no";
    if (fault === "before") throw new StoreUnavailableError("away", "no");
    await new Promise<void>((resolve) => clock.after!(delays[call % delays.length]!, resolve));
    const answers = await proceed();
    if (fault === "after") throw new StoreUnavailableError("away", "unknown");
    return answers;
  });
  // Where no message is lost, nothing expires as long as the test lasts: what is free was released.
  const ttl = faulty ? TTL : 100 * TTL;
  const algorithm = concurrency({ limit: LIMIT, ttl, maxHold: 100 * TTL });
  const jobs: AsyncLimiter<"permits"> = limiter(algorithm, { clock, store, prefix: "jobs" });
  return { clock, jobs, end: () => isOver = true };
}

/** Lets all callers come and go; answers how much was in use at most. */
async function run(callers: readonly Caller[], faulty: boolean): Promise<number> {
  const { clock, jobs, end } = slowJobs(callers, faulty);
  const pause = (milliseconds: number) =>
    new Promise<void>((resolve) => void clock.after!(milliseconds, resolve));
  let inUse = 0;
  let most = 0;

  async function comeAndGo({ cost, startsAt, maxWait, abortsAt, works, ending }: Caller) {
    const leaving = new AbortController();
    if (abortsAt !== undefined) clock.after!(abortsAt, () => leaving.abort(new Error("gone")));
    await pause(startsAt);
    const options = { cost, maxWait: maxWait!, signal: leaving.signal };
    await withPermit(jobs, "key", (signal) => {
      if (ending === "throws") throw new Error("thrown");
      inUse += cost;
      most = Math.max(most, inUse);
      return work(signal).finally(() => inUse -= cost);
    }, options);

    async function work(signal: AbortSignal): Promise<void> {
      const aborted = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve());
      });
      const waits = ending === "until it is aborted" && abortsAt !== undefined;
      await (waits ? aborted : Promise.race([pause(works), aborted]));
      if (ending === "rejects") throw new Error("rejected");
    }
  }

  const all = Promise.allSettled(callers.map(comeAndGo));
  await clock.advance(12 * TTL);
  await all;
  end();
  // A permit whose release never reached the store expires.
  if (faulty) await clock.advance(TTL);
  assert.equal((await jobs.peek("key", 0)).remaining, LIMIT);
  return most;
}

describe("callers that come, wait, leave, fail and are aborted at any moment", () => {
  const callers = fc.array(caller, { minLength: 1, maxLength: 6 });

  test("leave nothing held, and never hold more than the limit", () =>
    fc.assert(
      fc.asyncProperty(callers, async (callers) => {
        assert.ok(await run(callers, false) <= LIMIT);
      }),
      fcOptions({ numRuns: 30 }),
    ));

  test("leave nothing held for longer than a time to live where the store fails as well", () =>
    fc.assert(
      fc.asyncProperty(callers, async (callers) => {
        assert.ok(await run(callers, true) <= LIMIT);
      }),
      fcOptions({ numRuns: 30 }),
    ));
});

describe("misuse of permits", () => {
  const jobs = () => limiter(concurrency({ limit: LIMIT, ttl: TTL }));

  test("work that is not a function is an error before anything is held", async () => {
    const clock = testClock();
    let calls = 0;
    const store = interceptedStore(asyncMemoryStore(), (_seen, proceed) => (calls++, proceed()));
    const on = limiter(concurrency({ limit: 1, ttl: TTL }), { clock, store, prefix: "jobs" });
    const says = { name: "TypeError", message: /^Cannot hold a permit as work must be a function/ };
    await assert.rejects(withPermit(on, "key", 5 as never), says);
    assert.equal(calls, 0);
  });

  test("a listener that releases the permit as it is lost is told that it was not held", async () => {
    const clock = testClock();
    const algorithm = concurrency({ limit: 1, ttl: TTL, maxHold: TTL });
    const on = limiter(algorithm, { clock });
    const { permit } = hold(on, "key");
    const told: boolean[] = [];
    permit!.signal.addEventListener("abort", () => told.push(permit!.release()));
    await clock.advance(TTL);
    assert.deepEqual(told, [false]);
  });

  test("wrong options reject or throw", async () => {
    const own = jobs();
    await assert.rejects(withPermit(own, "key", () => 1, { cost: 0 }), RangeError);
    for (const cost of [0, -1, 1.5, NaN]) {
      assert.throws(() => hold(own, "key", { cost }), RangeError);
    }
    assert.throws(() => hold(own, ""), TypeError);
    const misspelled = { maxwait: 1 } as object;
    assert.throws(() => hold(own, "key", misspelled), /no option "maxwait": .*maxWait/);
    const signal = AbortSignal.abort(new Error("gone"));
    assert.throws(() => hold(own, "key", { signal }), /gone/);
    await assert.rejects(hold(own, "key", { signal, maxWait: 1 }), /gone/);
    await assert.rejects(withPermit(own, "", () => 1), TypeError);
    await assert.rejects(withPermit(own, "key", () => 1, null as never), TypeError);
    assert.throws(() => hold(own, "key", 5 as never), TypeError);
    await assert.rejects(async () => await hold(own, "key", { maxWait: -1 }), RangeError);
    await assert.rejects(
      async () => await hold(own, "key", { maxWait: "soon" as never }),
      RangeError,
    );
    await assert.rejects(
      async () => await hold(own, "key", { signal: {} as never, maxWait: 5 }),
      TypeError,
    );
    assert.throws(() => hold(own, "key", { signal: 1 as never }), TypeError);
    assert.equal(own.peek("key", 0).remaining, LIMIT);
  });
});
