import type { Algorithm } from "../algorithm.ts";
import { isNoted, withNotes } from "../receipts/noted.ts";

/**
 * A copy of a state that stays valid after the store has answered. A store may pass a state that is
 * a view of memory which other code writes. Only timelines can be such views, so only timelines are
 * copied.
 */
export function detachState(algorithm: Algorithm, state: unknown): unknown {
  const { parts, detach } = algorithm.internals ?? {};
  if (isNoted(state)) {
    return withNotes(detachState(algorithm, state.state), state.back, state.entries);
  }
  if (parts === undefined) return detach === undefined ? state : detach(state);
  return (state as readonly unknown[]).map((own, index) => detachState(parts[index]!, own));
}
