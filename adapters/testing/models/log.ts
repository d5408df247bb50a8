import { floorDivide, larger, smaller } from "./rate.ts";
import type { Rule } from "./rule.ts";

/** Units of one slot of time. */
export interface Entry {
  /** The slot's number; of a log, the instant in milliseconds. */
  readonly at: bigint;
  /** How many. */
  readonly units: bigint;
}

/**
 * What logs and sliding windows share: a list of what was taken in which slot, oldest first; at most
 * `limit` units in the last `span` slots.
 */
export function logRule(limit: number, slot: number, span: number): Rule<readonly Entry[]> {
  function slotOf(log: readonly Entry[], now: bigint): bigint {
    return larger(floorDivide(now, BigInt(slot)), log.at(-1)?.at ?? 0n);
  }
  function live(log: readonly Entry[], now: bigint): Entry[] {
    const after = slotOf(log, now) - BigInt(span);
    return log.filter((entry) => entry.at > after);
  }
  return {
    capacity: BigInt(limit),
    limit: () => limit,
    admits: (log = [], now, cost) =>
      live(log, now).reduce((sum, { units }) => sum + units, cost) <= BigInt(limit),
    after(log = [], now, cost) {
      if (cost > 0n) return [...live(log, now), { at: slotOf(log, now), units: cost }];
      const kept = withoutNewest(log, -cost);
      return live(kept, now).length > 0 ? kept : undefined;
    },
    fresh: (log, now) => live(log, now).length === 0,
  };
}

/** The entries without their last units. */
export function withoutNewest(entries: readonly Entry[], units: bigint): Entry[] {
  const kept = [...entries];
  let left = units;
  while (left > 0n && kept.length > 0) {
    const newest = kept.pop() as Entry;
    const taken = smaller(left, newest.units);
    left -= taken;
    if (newest.units > taken) kept.push({ at: newest.at, units: newest.units - taken });
  }
  return kept;
}
