/*
 * A share of a limit, for any algorithm: the same reducer, with each unit counted 1 / share times.
 * An algorithm that admits 100 units a minute admits 25 if each counts four times. This works for
 * windows, logs, buckets and combinations of them, and rounding up errs on the safe side.
 */

import type { Algorithm, SplitReducer } from "../algorithm.ts";
import { fieldsOf } from "./fields_of.ts";
import { all } from "./all.ts";
import { reducersOf } from "./build_algorithm.ts";
import type { Decision } from "../decision.ts";
import type { Returns } from "../arithmetic/returns.ts";
import { splitReducer } from "./split_reducer.ts";

/**
 * The algorithm that admits a share of the units that another algorithm admits.
 *
 * @param algorithm The algorithm; its capacity times the share must be at least 1.
 * @param share More than 0, at most 1.
 */
export function scaleAlgorithm(algorithm: Algorithm, share: number): Algorithm {
  const { parts, wraps, permits, returns, slots, queue, locks, bytes } = algorithm.internals ?? {};
  if (wraps !== undefined) return wraps.around(scaleAlgorithm(wraps.inner, share));
  if (permits !== undefined) return permits.scale(share);
  if (parts !== undefined) {
    return all(...parts.map((part) => scaleAlgorithm(part, share)));
  }
  const scale = unitScale(share);
  const capacity = scale.unitsIn(algorithm.capacity);
  const halves = scaledReducer(splitReducer(algorithm), scale, capacity);
  const policies = algorithm.policies.map((policy) => ({
    ...policy,
    limit: scale.limitOf(policy.limit),
    burst: capacity,
  }));
  return {
    ...fieldsOf(algorithm),
    policies,
    capacity,
    ...reducersOf(halves),
    internals: {
      halves,
      slots,
      queue,
      locks,
      returns: returns && scaledReturns(returns, scale),
      ...(bytes && { bytes }),
    },
  };
}

/** Converts between units of the share and units of the whole limit. */
interface UnitScale {
  /** A cost in units of the whole limit. */
  counted(cost: number): number;
  /** The largest cost that counts as at most so many units. */
  unitsIn(units: number): number;
  /** The smallest cost that counts as at least so many units. */
  unitsFor(units: number): number;
  /** The limit that a decision of the share shows for a limit of so many units. */
  limitOf(limit: number): number;
}

function unitScale(share: number): UnitScale {
  const whole = Math.round(1 / share);

  /** cost / share, rounded up; 1 / n is seldom exact as a float, so the exact n is used. */
  function timesShareless(cost: number): number {
    return 1 / whole === share ? cost * whole : Math.ceil(cost / share);
  }

  function unitsIn(units: number): number {
    let cost = Math.floor(units * share) + 1;
    while (timesShareless(cost) > units) cost--;
    return cost;
  }

  return {
    counted(cost) {
      const units = Math.min(timesShareless(Math.abs(cost)), Number.MAX_SAFE_INTEGER);
      return cost < 0 ? -units : units;
    },
    unitsIn,
    unitsFor(units) {
      const cost = unitsIn(units);
      return timesShareless(cost) < units ? cost + 1 : cost;
    },
    limitOf: (limit) => limit === 0 ? 0 : Math.max(1, unitsIn(limit)),
  };
}

/** How units of the share are given back. */
function scaledReturns(returns: Returns, { counted }: UnitScale): Returns {
  return {
    ...returns,
    giveBack(state, now, units, mark, since, ...lags) {
      const whole = counted(units);
      const back = returns.giveBack(state, now, whole, mark, counted(since), ...lags);
      const { returned } = back;
      return { ...back, returned: returned === whole ? units : units * returned / whole };
    },
  };
}

function scaledReducer<State>(
  { take, decide, charge }: SplitReducer<State>,
  { counted, unitsIn, unitsFor, limitOf }: UnitScale,
  capacity: number,
): SplitReducer<State> {
  function scaled(decision: Decision, next: State, now: number): Decision {
    const remaining = unitsIn(decision.remaining);
    return {
      ...decision,
      limit: limitOf(decision.limit),
      remaining,
      nextAfter: remaining >= capacity
        ? 0
        : decide(next, next, now, counted(remaining + 1)).retryAfter,
      debt: unitsFor(decision.debt),
    };
  }

  return {
    take: (state, now, cost) => take(state, now, counted(cost)),
    decide: (state, next, now, cost) => scaled(decide(state, next, now, counted(cost)), next, now),
    charge: (state, now, cost) => charge(state, now, counted(cost)),
  };
}
