/*
 * A share of a limit, for any algorithm: the same reducer, for which each unit counts 1 / share
 * times. What admits 100 units a minute admits 25 of them when each counts four times; window, log,
 * bucket or several of them at once make no difference, and rounding up keeps to the safe side.
 */

import type { Algorithm, Halves } from "../algorithm.ts";
import { all } from "./all.ts";
import { stepOf } from "./build_algorithm.ts";
import type { Decision } from "../decision.ts";
import { makeDecision } from "../make_decision.ts";
import { halvesOf } from "./halves_of.ts";

/**
 * The algorithm that admits a share of what another one admits.
 *
 * @param algorithm The algorithm; its capacity times the share must be at least 1.
 * @param share More than 0, at most 1.
 */
export function scaleAlgorithm(algorithm: Algorithm, share: number): Algorithm {
  if (algorithm.internals?.wraps !== undefined) {
    return algorithm.internals?.wraps.around(
      scaleAlgorithm(algorithm.internals?.wraps.inner, share),
    );
  }
  if (algorithm.internals?.parts !== undefined) {
    return all(
      ...algorithm.internals?.parts.map((part) => scaleAlgorithm(part, share)),
    ) as Algorithm;
  }
  const { take, decide } = halvesOf(algorithm);
  const whole = Math.round(1 / share);
  const capacity = unitsIn(algorithm.capacity);

  /** What a cost counts in units of the whole limit. */
  function counted(cost: number): number {
    const units = Math.min(timesShareless(Math.abs(cost)), Number.MAX_SAFE_INTEGER);
    return cost < 0 ? -units : units;
  }

  /** cost / share, rounded up; 1 / n is seldom a float, so n itself is what counts. */
  function timesShareless(cost: number): number {
    return 1 / whole === share ? cost * whole : Math.ceil(cost / share);
  }

  /** The largest cost that counts no more than so many units. */
  function unitsIn(units: number): number {
    let cost = Math.floor(units * share) + 1;
    while (timesShareless(cost) > units) cost--;
    return cost;
  }

  function scaled(decision: Decision, next: unknown, now: number): Decision {
    const remaining = unitsIn(decision.remaining);
    return makeDecision(
      decision.allowed,
      Math.max(1, unitsIn(decision.limit)),
      remaining,
      decision.retryAfter,
      remaining >= capacity ? 0 : decide(next, next, now, counted(remaining + 1)).retryAfter,
      decision.resetAfter,
      decision.delay,
      decision.source,
      undefined,
    );
  }

  const halves: Halves<unknown> = {
    take: (state, now, cost) => take(state, now, counted(cost)),
    decide: (state, next, now, cost) => scaled(decide(state, next, now, counted(cost)), next, now),
  };
  const { name, id, policies, initial, codec } = algorithm;
  return {
    name,
    id,
    policies,
    capacity,
    initial,
    codec,
    step: stepOf(halves),
    internals: { halves },
  };
}
