import type { Algorithm } from "../algorithm.ts";

/**
 * A copy of a state that stays valid after the store has answered. A store may pass a state that is
 * a view of memory which other code writes. Only timelines can be such views, so only timelines are
 * copied.
 */
export function detachState(algorithm: Algorithm, state: unknown): unknown {
  const { parts, wraps, detach } = algorithm.internals ?? {};
  if (wraps !== undefined) {
    const inner = wraps.innerOf(state);
    const detached = detachState(wraps.inner, inner);
    return detached === inner ? state : wraps.withInner(state, detached);
  }
  if (parts === undefined) return detach === undefined ? state : detach(state);
  return (state as readonly unknown[]).map((own, index) => detachState(parts[index]!, own));
}
