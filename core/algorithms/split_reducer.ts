/*
 * Gives every algorithm a reducer in two halves, state and decision. Stores call the halves, but an
 * algorithm written elsewhere has only `step` and `charge`.
 */

import type { Algorithm, SplitReducer } from "../algorithm.ts";

/**
 * The split reducer of any algorithm. For an algorithm without a split reducer, `step` is called
 * once for the state and again for the decision; both calls agree because a reducer is pure.
 */
export function splitReducer<State>(algorithm: Algorithm<State>): SplitReducer<State> {
  if (algorithm.internals?.halves !== undefined) return algorithm.internals.halves;
  return {
    take: (state, now, cost) => algorithm.step(state, now, cost)[1],
    decide: (state, _next, now, cost) => algorithm.step(state, now, cost)[0],
    charge: (state, now, cost) => algorithm.charge(state, now, cost)[1],
  };
}
