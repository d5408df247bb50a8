import fc from "fast-check";
import type { Cost, Move, Schedule, Wait } from "./schedule.ts";

/** An instant like those of today's clocks, and a multiple of no round number. */
const TODAY = 1_790_000_123_457;

/** What to draw schedules from. */
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
 * milliseconds beside them, calls that come back when the answer said or one millisecond too
 * early, clocks that step back; costs of 0, of 1, of what is left and one more, of the capacity and
 * one more, units given back and units charged; from the epoch or from today.
 *
 * @param options What to draw from.
 *
 * @example
 * ```ts
 * import { follow, gcraRule, model, schedules } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(schedules({ refunds: false }), (schedule) => {
 *   const key = model(gcraRule({ limit: 3, period: 1_000 }));
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

/** A wait that is already over, moved by -1, steps back. */
function notBelow(stepsBack: boolean, by: fc.Arbitrary<number>): fc.Arbitrary<number> {
  return stepsBack ? by : by.map(Math.abs);
}

/** A little, what is left and a little more, and up to three times the capacity. */
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
