import { floorDivide, larger } from "./rate.ts";
import type { Rule } from "./rule.ts";

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
): Rule<Counted> {
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
