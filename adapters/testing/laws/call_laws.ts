/*
 * The laws of a limiter's single calls: they answer as the bare reducer does and reject bad
 * arguments. They catch a limiter that decides anything itself.
 */

import { LAST_INSTANT } from "../../../core/options/checks.ts";
import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import type { AsyncLimiter, Limiter } from "../../../core/limiter/limiter_types.ts";
import { acquire, type AcquireOptions } from "../../../core/waiting/acquire.ts";
import { type Law, law } from "../law.ts";
import { expectError, expectSame } from "./expect_same.ts";
import { referenceStore } from "../stores/reference_store.ts";
import { verbOf } from "../stores/tested_key.ts";
import { costOf, schedules, waitOf } from "../arbitraries/schedules.ts";
import { gridsOf, type Subject } from "../arbitraries/subjects.ts";
import { inWords } from "../table.ts";
import { type VirtualClock, virtualClock } from "../virtual_clock.ts";

/** A limiter; one that was not made by `limiter(...)` waits by a method of its own. */
export type TestedLimiter = (Limiter | AsyncLimiter) & {
  acquire?(key: string, options?: AcquireOptions): Promise<Decision>;
};

/** Makes a limiter on the given clock whose store holds nothing. */
export type MakeLimiter = (
  algorithm: Algorithm,
  clock: VirtualClock,
) => TestedLimiter | Promise<TestedLimiter>;

/** Waits by a limiter's own method, if it has one. */
export function acquireOn(
  limiter: TestedLimiter,
  key: string,
  options?: AcquireOptions,
): Promise<Decision> {
  return limiter.acquire?.(key, options) ?? acquire(limiter, key, options);
}

/** Laws of a limiter's answers to single calls. */
export function callLaws(make: MakeLimiter, subjects: fc.Arbitrary<Subject>): readonly Law[] {
  return [
    law(
      "consume, peek, refund, charge and reset answer as the bare reducer",
      fc.asyncProperty(subjects, schedules(), fc.nat(), async (subject, schedule, resetAt) => {
        const { algorithm } = subject;
        const guide = { capacity: algorithm.capacity, grids: gridsOf(subject) };
        const clock = virtualClock(schedule.origin);
        const limiter = await make(algorithm, clock);
        const reference = referenceStore();
        let last: Decision | undefined;
        for (const [i, { wait, cost, charge }] of schedule.moves.entries()) {
          const now = clock() + waitOf(wait, guide, clock(), last);
          clock.set(Math.min(Math.max(0, now), LAST_INSTANT));
          const units = costOf(cost, guide, last);
          const [verb, size] = verbOf(units, { charge });
          const call = { name: "key", algorithm, verb: verb.name, units: size };
          if (units >= 0 && !charge) {
            const look = await limiter.peek("key", units);
            reference.expect([{ ...call, verb: "peek" }], clock(), [look]);
          }
          last = units < 0
            ? await limiter.refund("key", -units)
            : charge
            ? await limiter.charge("key", units)
            : await limiter.consume("key", units);
          reference.expect([call], clock(), [last]);
          if (i === resetAt) {
            await limiter.reset("key");
            reference.delete("key");
          }
        }
      }),
    ),
    law(
      "a bad key, cost or clock is a RangeError or TypeError, and changes nothing",
      fc.asyncProperty(subjects, async ({ algorithm }) => {
        const clock = virtualClock(1_000);
        const limiter = await make(algorithm, clock);
        await limiter.consume("key");
        const before = inWords(await limiter.peek("key", 0));
        const expectBad = (call: () => unknown, what: string) =>
          expectError(call, [RangeError, TypeError], what);
        for (const cost of [-1, NaN, 1.5, 2 ** 60, Infinity, "1", null] as number[]) {
          for (const method of ["consume", "peek", "refund", "charge"] as const) {
            await expectBad(() => limiter[method]("key", cost), `${method} of ${cost}`);
          }
          await expectBad(() => acquireOn(limiter, "key", { cost }), `acquire of ${cost}`);
        }
        await expectBad(() => limiter.refund("key", 0), "refund of 0");
        for (const key of ["", 5, undefined, null, {}] as string[]) {
          for (const method of ["consume", "peek", "refund", "charge", "reset"] as const) {
            await expectBad(() => limiter[method](key), `${method} of key ${String(key)}`);
          }
          await expectBad(() => acquireOn(limiter, key), `acquire of key ${String(key)}`);
        }
        for (const now of [NaN, -1, 2 ** 43]) {
          clock.set(now);
          await expectBad(() => limiter.consume("key"), `consume at ${now}`);
        }
        clock.set(1_000);
        expectSame(inWords(await limiter.peek("key", 0)), before, "the same:");
      }),
    ),
  ];
}
