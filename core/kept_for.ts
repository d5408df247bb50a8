import type { Algorithm } from "./algorithm.ts";
import type { Decision } from "./decision.ts";

/**
 * Milliseconds for which a store must keep the state that a decision left: until the key is fresh, or
 * longer if the state holds something that outlasts its use.
 */
export function keptFor(
  { internals }: Algorithm,
  state: unknown,
  now: number,
  { resetAfter }: Pick<Decision, "resetAfter">,
): number {
  return internals?.keptFor?.(state, now, resetAfter) ?? resetAfter;
}
