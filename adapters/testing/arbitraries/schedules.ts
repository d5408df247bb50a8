/*
 * Schedules: the calls that laws make on one key. They state waits and costs relative to the limit
 * and to the last answer, so that one schedule hits the exact boundaries of any algorithm and
 * shrinks well.
 */

import fc from "fast-check";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import type { Decision } from "../../../core/decision.ts";

/** The wait of a move before it calls; `by` moves the instant by a few milliseconds. */
export type Wait =
  /** No time passes. */
  | "stay"
  /** The given number of milliseconds passes; below 0 the clock steps back. */
  | { readonly gap: number }
  /** One of the subject's grids passes: a period, a precision, an emission interval. */
  | { readonly pass: number; readonly by: number }
  /** The next multiple of one of the subject's grids. */
  | { readonly reach: number; readonly by: number }
  /** A wait that the last decision promised. */
  | {
    readonly promised: "retryAfter" | "nextAfter" | "resetAfter" | "delay";
    readonly by: number;
  };

/** The cost of a move. */
export type Cost =
  /** The given number of units; 0 looks, below 0 gives back. */
  | { readonly units: number }
  /** The capacity plus the given number. */
  | { readonly capacity: number }
  /** The units that the last decision said are left, plus the given number; at least 0. */
  | { readonly remaining: number }
  /** Hundredths of the capacity; below 0 they are given back, perhaps more than is in use. */
  | { readonly hundredths: number };

/** One call of a schedule: when, relative to the previous call, and how much. */
export interface Move {
  /** The wait before the call. */
  readonly wait: Wait;
  /** The units that it takes. */
  readonly cost: Cost;
  /** Whether a cost above 0 is charged, beyond the capacity if necessary. */
  readonly charge?: boolean | undefined;
}

/**
 * Calls on one key, described without the numbers of any policy, so that one schedule suits every
 * algorithm. `follow` turns it into instants and costs as the answers come.
 *
 * @example A burst, and back when it says
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { follow, type Schedule, virtualClock } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const schedule: Schedule = {
 *   origin: 1_000,
 *   moves: [
 *     { wait: "stay", cost: { capacity: 0 } },
 *     { wait: "stay", cost: { units: 1 } },
 *     { wait: { promised: "retryAfter", by: 0 }, cost: { units: 1 } },
 *   ],
 * };
 * const clock = virtualClock();
 * const api = limiter(gcra({ limit: 10, period: "1s", burst: 10 }), { clock });
 * const calls = follow(schedule, { capacity: 10, grids: [1_000] }, (now, cost) => {
 *   clock.set(now);
 *   return api.consume("key", cost);
 * });
 * assert.deepEqual(calls.map(({ now }) => now), [1_000, 1_000, 1_100]);
 * assert.deepEqual(calls.map(({ decision }) => decision.allowed), [true, false, true]);
 * ```
 */
export interface Schedule {
  /** The instant of the first call, before its own wait. */
  readonly origin: number;
  /** The calls in order. */
  readonly moves: readonly Move[];
}

/** Facts about the limit that a schedule is played on. */
export interface Guide {
  /** The largest cost that a fresh key admits. */
  readonly capacity: number;
  /** Milliseconds at whose multiples something happens; at least one. */
  readonly grids: readonly number[];
}

/** A call that was made, and its answer. */
export interface Call {
  /** The instant, in milliseconds. */
  readonly now: number;
  /** Units; 0 looked, below 0 gave back. */
  readonly cost: number;
  /** Whether it charged. */
  readonly charge: boolean;
  /** The answer. */
  readonly decision: Decision;
}

/**
 * Plays a schedule on anything that answers with decisions: a reducer, a limiter, a service.
 *
 * @param schedule The calls.
 * @param guide The numbers of the limit.
 * @param answer Makes one call.
 * @returns The calls with their answers.
 *
 * @example
 * ```ts
 * import { gcraRule, follow, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(gcraRule({ limit: 2, period: 1_000, burst: 2 }));
 * const schedule = { origin: 0, moves: [{ wait: "stay", cost: { capacity: 1 } }] } as const;
 * const [call] = follow(schedule, { capacity: 2, grids: [1_000] }, key.decide);
 * assert.equal(call?.decision.retryAfter, Infinity);
 * ```
 */
export function follow(
  schedule: Schedule,
  guide: Guide,
  answer: (now: number, cost: number, charge: boolean) => Decision,
): Call[] {
  const calls: Call[] = [];
  let now = clamped(schedule.origin);
  for (const { wait, cost, charge = false } of schedule.moves) {
    const last = calls.at(-1)?.decision;
    now = clamped(now + waitOf(wait, guide, now, last));
    const units = costOf(cost, guide, last);
    calls.push({ now, cost: units, charge, decision: answer(now, units, charge) });
  }
  return calls;
}

/** Milliseconds that a wait takes, after the last answer. */
export function waitOf(wait: Wait, guide: Guide, now: number, last?: Decision): number {
  if (wait === "stay") return 0;
  if ("gap" in wait) return wait.gap;
  if ("pass" in wait) return gridOf(guide, wait.pass) + wait.by;
  if ("reach" in wait) {
    const grid = gridOf(guide, wait.reach);
    return (Math.floor(now / grid) + 1) * grid - now + wait.by;
  }
  const promised = last?.[wait.promised] ?? 0;
  return promised === Infinity ? 0 : promised + wait.by;
}

/** Units that a move takes, after the last answer. */
export function costOf(cost: Cost, { capacity }: Guide, last?: Decision): number {
  if ("units" in cost) return cost.units;
  if ("capacity" in cost) return capacity + cost.capacity;
  if ("remaining" in cost) return Math.max(0, (last?.remaining ?? capacity) + cost.remaining);
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.trunc(capacity * cost.hundredths / 100));
}

function gridOf({ grids }: Guide, index: number): number {
  return grids[index % grids.length] ?? 1;
}

function clamped(now: number): number {
  return Math.min(Math.max(0, now), LAST_INSTANT);
}

/** An instant near the present that is a multiple of no round number. */
const TODAY = 1_790_000_123_457;

/** Options of the schedules to draw. */
export interface SchedulesOptions {
  /** The most calls; 24 without it. */
  readonly maxLength?: number | undefined;
  /** Whether the clock may step back; it may without it. */
  readonly stepsBack?: boolean | undefined;
  /** Whether units are given back; they are without it. */
  readonly refunds?: boolean | undefined;
  /** Whether units are charged beyond the capacity; they are without it. */
  readonly charges?: boolean | undefined;
}

/**
 * Random schedules: bursts at one instant, gaps, the exact boundaries of the policy and the
 * milliseconds next to them, calls that come back when the answer said or one millisecond too
 * early, clocks that step back; costs of 0, of 1, of what is left and one more, of the capacity and
 * one more, units given back and units charged; from the epoch or from today.
 *
 * @param options The range of schedules to draw from.
 *
 * @example
 * ```ts
 * import { follow, gcraRule, model, schedules } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(schedules({ refunds: false }), (schedule) => {
 *   const key = model(gcraRule({ limit: 3, period: 1_000, burst: 3 }));
 *   const calls = follow(schedule, { capacity: 3, grids: [1_000] }, key.decide);
 *   return calls.every(({ decision }) => decision.remaining <= 3);
 * }), { numRuns: 10 });
 * ```
 */
export function schedules(options: SchedulesOptions = {}): fc.Arbitrary<Schedule> {
  const { maxLength = 24, stepsBack = true, refunds = true, charges = true } = options;
  const calls = fc.record({ wait: waits(stepsBack), cost: costs(refunds) });
  const charged = fc.record({
    wait: waits(stepsBack),
    cost: chargedCosts(),
    charge: fc.constant(true),
  });
  const moves = fc.oneof(
    { weight: 9, arbitrary: calls },
    { weight: charges ? 1 : 0, arbitrary: charged },
  );
  return fc.record({
    origin: fc.oneof(fc.constantFrom(0, TODAY), fc.integer({ min: 0, max: 2 ** 41 })),
    moves: fc.array<Move>(moves, { minLength: 1, maxLength, size: "max" }),
  });
}

function waits(stepsBack: boolean): fc.Arbitrary<Wait> {
  const by = fc.constantFrom(0, -1, 1);
  const grid = fc.nat({ max: 3 });
  const promised = fc.constantFrom("retryAfter", "nextAfter", "resetAfter", "delay" as const);
  const back = fc.oneof(
    fc.integer({ min: 1, max: 60 }).map((ms) => ({ gap: -ms })),
    fc.integer({ min: 1, max: 2 ** 36 }).map((ms) => ({ gap: -ms })),
  );
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant<Wait>("stay") },
    { weight: 4, arbitrary: fc.record({ gap: fc.integer({ min: 0, max: 50 }) }) },
    { weight: 1, arbitrary: fc.record({ gap: fc.integer({ min: 0, max: 2 ** 36 }) }) },
    { weight: 2, arbitrary: fc.record({ pass: grid, by: notBelow(stepsBack, by) }) },
    { weight: 3, arbitrary: fc.record({ reach: grid, by: notBelow(stepsBack, by) }) },
    { weight: 5, arbitrary: fc.record({ promised, by: notBelow(stepsBack, by) }) },
    { weight: stepsBack ? 3 : 0, arbitrary: back },
  );
}

/** An offset of -1 on a wait of 0 would step the clock back. */
function notBelow(stepsBack: boolean, by: fc.Arbitrary<number>): fc.Arbitrary<number> {
  return stepsBack ? by : by.map(Math.abs);
}

/** A few units, the units left and a few more, and up to three times the capacity. */
function chargedCosts(): fc.Arbitrary<Cost> {
  return fc.oneof(
    fc.record({ units: fc.integer({ min: 0, max: 6 }) }),
    fc.record({ remaining: fc.constantFrom(0, 1, 3) }),
    fc.record({ hundredths: fc.integer({ min: 0, max: 300 }) }),
  );
}

function costs(refunds: boolean): fc.Arbitrary<Cost> {
  const hundredths = fc.integer({ min: 0, max: 100 });
  const back = fc.oneof(
    fc.integer({ min: 1, max: 5 }).map((units) => ({ units: -units })),
    fc.integer({ min: 0, max: 300 }).map((share) => ({ hundredths: -share })),
  );
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant<Cost>({ units: 1 }) },
    { weight: 1, arbitrary: fc.constant<Cost>({ units: 0 }) },
    { weight: 3, arbitrary: fc.record({ units: fc.integer({ min: 0, max: 6 }) }) },
    { weight: 2, arbitrary: fc.record({ capacity: fc.constantFrom(0, 1, -1) }) },
    { weight: 3, arbitrary: fc.record({ remaining: fc.constantFrom(0, 1, -1) }) },
    { weight: 2, arbitrary: fc.record({ hundredths }) },
    { weight: refunds ? 3 : 0, arbitrary: back },
  );
}
