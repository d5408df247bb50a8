/*
 * The models of `fixedWindow` and `slidingCounter`: units counted by window, in bigints, so that
 * the fraction of a fading window is exact.
 */

import type { SlidingLogRuleOptions } from "./log_rules.ts";
import type { AlgorithmRule } from "./algorithm_rule.ts";
import { floorDivide, larger, smaller } from "./whole_numbers.ts";

/** Units counted in the window that starts at an instant. */
export interface Counted {
  /** The window's first millisecond. */
  readonly start: bigint;
  /** Units taken in it. */
  readonly units: bigint;
}

/** The options of a fixed window's rule; durations in whole milliseconds. */
export interface FixedWindowRuleOptions {
  /** Units per window. */
  readonly limit: number;
  /** The length of a window in whole milliseconds. */
  readonly period: number;
  /** Where windows start: `"epoch"` without it. */
  readonly anchor?: "epoch" | "first" | number | undefined;
}

/**
 * The fixed window by its definition: at most `limit` units between the start of a window and its
 * end. An instant before the window that holds units counts as its start.
 *
 * @param options The limit, and where windows start.
 *
 * @example
 * ```ts
 * import { fixedWindowRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(fixedWindowRule({ limit: 1, period: 1_000, anchor: "first" }));
 * assert.equal(key.decide(300, 1).resetAfter, 1_000);
 * assert.equal(key.decide(1_299, 1).allowed, false);
 * ```
 */
export function fixedWindowRule(
  { limit, period, anchor = "epoch" }: FixedWindowRuleOptions,
): AlgorithmRule<Counted> {
  const length = BigInt(period);
  const shift = typeof anchor === "number" ? BigInt(anchor) : 0n;

  function startOf(use: Counted | undefined, now: bigint): bigint {
    if (anchor === "first") return use !== undefined && now < use.start + length ? use.start : now;
    const aligned = floorDivide(now - shift, length) * length + shift;
    return use === undefined ? aligned : larger(aligned, use.start);
  }
  function unitsAt(use: Counted | undefined, now: bigint): bigint {
    return use !== undefined && use.start === startOf(use, now) ? use.units : 0n;
  }
  return {
    capacity: BigInt(limit),
    limit: () => limit,
    admits: (use, now, cost) => unitsAt(use, now) + cost <= BigInt(limit),
    after(use, now, cost) {
      const units = unitsAt(use, now) + cost;
      return units > 0n ? { start: startOf(use, now), units } : undefined;
    },
    fresh: (use, now) => unitsAt(use, now) === 0n,
  };
}

/** Units of a window and of the one before it. */
export interface TwoWindows {
  /** The number of the current window. */
  readonly window: bigint;
  /** Units of the window before. */
  readonly previous: bigint;
  /** Units of the current window. */
  readonly current: bigint;
}

/**
 * The sliding counter by its definition: previous * (1 - (now mod period) / period) + current +
 * cost <= limit, with both sides multiplied by the period so that everything is whole. An instant
 * before the latest window that holds units counts as its start. An admission forgets what is older
 * than the window before its own; giving back forgets nothing.
 *
 * @param options The limit and the length of a window.
 *
 * @example
 * ```ts
 * import { model, slidingCounterRule } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(slidingCounterRule({ limit: 10, period: 1_000 }));
 * key.decide(0, 10);
 * assert.equal(key.decide(1_500, 0).remaining, 5);
 * ```
 */
export function slidingCounterRule(
  { limit, period }: SlidingLogRuleOptions,
): AlgorithmRule<TwoWindows> {
  const length = BigInt(period);

  /** The latest window that holds units. */
  function latest(use: TwoWindows): bigint {
    return use.current > 0n ? use.window : use.window - 1n;
  }
  function instant(use: TwoWindows | undefined, now: bigint): bigint {
    return use === undefined ? now : larger(now, latest(use) * length);
  }
  function at(use: TwoWindows | undefined, now: bigint): TwoWindows {
    const window = floorDivide(instant(use, now), length);
    const units = (number: bigint): bigint => {
      if (number === use?.window) return use.current;
      return use !== undefined && number === use.window - 1n ? use.previous : 0n;
    };
    return { window, previous: units(window - 1n), current: units(window) };
  }
  return {
    capacity: BigInt(limit),
    limit: () => limit,
    admits(use, now, cost) {
      const { window, previous, current } = at(use, now);
      const left = (window + 1n) * length - instant(use, now);
      return previous * left + (current + cost) * length <= BigInt(limit) * length;
    },
    after(use, now, cost) {
      const held = at(use, now);
      if (cost > 0n) return { ...held, current: held.current + cost };
      if (use === undefined || -cost >= held.current + held.previous) return undefined;
      return withoutNewest(use, -cost);
    },
    fresh(use, now) {
      const { previous, current } = at(use, now);
      return previous + current === 0n;
    },
  };
}

/** Takes back fewer than all units, beginning with the later window. */
function withoutNewest({ window, previous, current }: TwoWindows, units: bigint): TwoWindows {
  const fromCurrent = smaller(units, current);
  return { window, previous: previous - (units - fromCurrent), current: current - fromCurrent };
}
