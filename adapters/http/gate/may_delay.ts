import type { Algorithm } from "../../../core/algorithm.ts";

/**
 * Whether admitted calls may have to wait for their start, as those of a `leakyQueue`.
 *
 * Reducers are pure, so one can be tried: of two calls at once, must the second wait? Of an `all`
 * each part is tried by itself, as another part may refuse the second call.
 */
export function mayDelay(algorithm: Algorithm): boolean {
  const parts = algorithm.internals?.parts;
  if (parts !== undefined) return parts.some(mayDelay);
  const [, state] = algorithm.step(algorithm.initial, 0, 1);
  const [decision] = algorithm.step(state, 0, 1);
  return decision.delay > 0;
}
