import type { Algorithm, Halves } from "../algorithm.ts";

/**
 * The two halves of any algorithm. One that brings none has its step called for each half, which
 * answers the same, as a reducer is pure.
 */
export function halvesOf<State>(algorithm: Algorithm<State>): Halves<State> {
  if (algorithm.internals?.halves !== undefined) return algorithm.internals.halves;
  return {
    take: (state, now, cost) => algorithm.step(state, now, cost)[1],
    decide: (state, _next, now, cost) => algorithm.step(state, now, cost)[0],
    charge: (state, now, cost) => algorithm.charge(state, now, cost)[1],
  };
}
