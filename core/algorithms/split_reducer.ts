import type { Algorithm, SplitReducer } from "../algorithm.ts";

/**
 * The split reducer of any algorithm. Of one that brings none, `step` is called for the state and
 * again for the decision, which answers the same, as a reducer is pure.
 */
export function splitReducer<State>(algorithm: Algorithm<State>): SplitReducer<State> {
  if (algorithm.internals?.halves !== undefined) return algorithm.internals.halves;
  return {
    take: (state, now, cost) => algorithm.step(state, now, cost)[1],
    decide: (state, _next, now, cost) => algorithm.step(state, now, cost)[0],
    charge: (state, now, cost) => algorithm.charge(state, now, cost)[1],
  };
}
