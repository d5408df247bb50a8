/*
 * Finds the limits of a rule that can never refuse anything, because another limit always refuses
 * first.
 *
 * Each algorithm has a bound on what it admits in any span of time. If a limit admits everything
 * within another limit's bound, it never decides. These are upper bounds, so no limit is reported
 * that could bind, but a few limits that cannot bind may go unnoticed.
 *
 * Source: PyrateLimiter checks its lists of rates in this way (limits grow, densities fall).
 */

import type { Algorithm } from "../algorithm.ts";

/** A limit that can never refuse, and the limit that always refuses before it. */
export interface UnreachableLimit {
  /** The index of the idle limit. */
  readonly unreachable: number;
  /** The index of the limit that is always reached first. */
  readonly reachedFirst: number;
}

/** Finds the limits of a rule that can never bind. Quadratic in their number. */
export function unreachableLimits(limits: readonly Algorithm[]): readonly UnreachableLimit[] {
  const idle = new Set<number>();
  return limits.flatMap((limit, limitIndex) => {
    const binding = limits.findIndex((other, index) =>
      index !== limitIndex && !idle.has(index) && isUnreachable(limit, other)
    );
    if (binding === -1) return [];
    idle.add(limitIndex);
    return [{ unreachable: limitIndex, reachedFirst: binding }];
  });
}

/** Whether `limit` admits whatever `other` does. */
function isUnreachable(limit: Algorithm, other: Algorithm): boolean {
  const { limit: units, period, burst } = limit.policies[0]!;
  const { limit: otherUnits, period: otherPeriod } = other.policies[0]!;
  switch (kindOf(limit)) {
    case "continuous":
      return mostUnitsIn(other, 1) <= burst && otherUnits * period <= units * otherPeriod;
    case "interval":
      return mostUnitsIn(other, period) <= Math.min(burst, units);
    case "slidingCounter":
      return mostUnitsIn(other, 2 * period) <= units;
    case "fixedWindow":
    case "slidingLog":
    case "slidingWindow":
      return mostUnitsIn(other, period) <= units;
    default:
      // A lockout that is used up admits nothing for a while, windows of a calendar differ in length,
      // and limits do not determine how long permits are in use.
      return false;
  }
}

/** The most units that a limit admits in any span of so many milliseconds, rounded up. */
function mostUnitsIn(limit: Algorithm, span: number): number {
  const { limit: units, period, burst } = limit.policies[0]!;
  switch (kindOf(limit)) {
    case "continuous":
      return Math.floor(burst + units * span / period);
    case "interval":
      return burst + units * Math.ceil(span / period);
    case "slidingLog":
      return units * Math.ceil(span / period);
    case "fixedWindow":
    case "slidingCounter":
    case "slidingWindow":
      return units * (Math.ceil(span / period) + 1);
    default:
      // Limit and period do not tell how long a lock lasts, how short a window of a calendar may be, or
      // how soon permits come back.
      return Infinity;
  }
}

function kindOf({ id }: Algorithm): string {
  const [factory = "", ...options] = id.split("/");
  if (factory === "tokenBucket" && options.includes("interval")) return "interval";
  return ["gcra", "tokenBucket", "leakyBucket", "leakyQueue"].includes(factory)
    ? "continuous"
    : factory;
}
