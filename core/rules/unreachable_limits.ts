/*
 * Which limits of a rule can never refuse anything, because another one always does so first.
 *
 * Each algorithm has a bound on what it admits in any span of time. If a limit would admit all that
 * another one's bound lets through, it never has the last word. The bounds are upper ones, so
 * nothing is reported that could bind; a few that cannot may go unnoticed.
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
    case "lockout":
      // One that is filled admits nothing for a while, so that it is always felt.
      return false;
    case "calendarWindow":
      // Its windows are of several lengths.
      return false;
    case "concurrency":
      // How long units are in use is not for limits to say.
      return false;
    case "slidingCounter":
      return mostUnitsIn(other, 2 * period) <= units;
    default:
      return mostUnitsIn(other, period) <= units;
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
    case "lockout":
    case "calendarWindow":
    case "concurrency":
      // How long it locks, how short a window may be, and how soon permits come back, is not among
      // its numbers.
      return Infinity;
    case "slidingLog":
      return units * Math.ceil(span / period);
    default:
      return units * (Math.ceil(span / period) + 1);
  }
}

function kindOf({ id }: Algorithm): string {
  const [factory = "", ...options] = id.split("/");
  if (factory === "tokenBucket" && options.at(-1) === "interval") return "interval";
  return ["gcra", "tokenBucket", "leakyBucket", "leakyQueue"].includes(factory)
    ? "continuous"
    : factory;
}
