/*
 * Questions that a waiting line has for the store, put as reducers. A store runs any algorithm; so
 * one that steps differently, but keeps its states in the same way, is run atomically on every
 * store, and no store needs to know of waiting.
 */

import type { Algorithm } from "./algorithm.ts";
import { LAST_INSTANT } from "./check.ts";
import type { Decision } from "./decision.ts";

/** Where a line leads: the state after all in it, and when the last of them was admitted. */
export interface Projection {
  readonly state: unknown;
  /** When the last one is admitted: an instant. */
  readonly at: number;
  /** Milliseconds from the `now` it was counted from until the last one starts. */
  readonly wait: number;
}

/** Admits one cost after another, each as soon as it can be. Linear in the number of costs. */
export function project(
  algorithm: Algorithm,
  from: { readonly state: unknown; readonly at: number },
  now: number,
  costs: readonly number[],
): Projection {
  let state = from.state;
  let at = Math.max(from.at, now);
  let delay = 0;
  for (const cost of costs) {
    let [decision, next] = algorithm.step(state, at, cost);
    if (!decision.allowed) {
      at += decision.retryAfter;
      if (!(at <= LAST_INSTANT)) return { state, at: Infinity, wait: Infinity };
      [decision, next] = algorithm.step(state, at, cost);
    }
    state = next;
    delay = decision.delay;
  }
  return { state, at, wait: at - now + delay };
}

/** The same algorithm, stepped otherwise. It is only ever run; its halves would not fit the step. */
export function steppedOtherwise(
  algorithm: Algorithm,
  step: Algorithm["step"],
): Algorithm {
  const { name, id, policies, capacity, initial, codec } = algorithm;
  return { name, id, policies, capacity, initial, step, codec };
}

/**
 * The same algorithm, but it refuses what could not start within `patience`; `retryAfter` is then
 * the wait until its start.
 *
 * @param tell Called with the instant at which the key is fresh after the call; not for a look,
 * which a store may ask for beside it.
 */
export function attempting(
  algorithm: Algorithm,
  patience: number,
  tell: (freshAt: number) => void,
): Algorithm {
  return steppedOtherwise(algorithm, (state, now, cost) => {
    const result = algorithm.step(state, now, cost);
    if (cost !== 0) tell(now + result[0].resetAfter);
    if (patience === Infinity) return result;
    const { wait } = project(algorithm, { state, at: now }, now, [cost]);
    if (wait <= patience) return result;
    const [look] = algorithm.step(state, now, 0);
    return [{ ...look, allowed: false, retryAfter: wait }, state];
  });
}

/**
 * The same algorithm, but it gives back only if the key is still fresh at `freshAt`: if the call
 * whose units are given back was the last one to take any.
 */
export function givingBackTheNewest(algorithm: Algorithm, freshAt: number): Algorithm {
  return steppedOtherwise(algorithm, (state, now, cost) => {
    const [look] = algorithm.step(state, now, 0);
    return now + look.resetAfter === freshAt ? algorithm.step(state, now, cost) : [look, state];
  });
}

/** Asks, in a dry run, where the line leads; `tell` may be called again after a lost race. */
export function projecting(
  algorithm: Algorithm,
  costs: readonly number[],
  tell: (projection: Projection) => void,
): Algorithm {
  return steppedOtherwise(algorithm, (state, now, cost): readonly [Decision, unknown] => {
    tell(project(algorithm, { state, at: now }, now, costs));
    return [algorithm.step(state, now, cost)[0], state];
  });
}
