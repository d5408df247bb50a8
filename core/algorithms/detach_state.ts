import type { Algorithm } from "../algorithm.ts";
import { detachedTimeline } from "../timeline/counted_timeline.ts";
import type { Timeline } from "../timeline/timeline.ts";

/**
 * A state that holds after the store has answered. A store may pass a view of memory that others
 * write. States of numbers are values, so only timelines are copied.
 */
export function detachState(algorithm: Algorithm, state: unknown): unknown {
  const { parts, slots } = algorithm.internals ?? {};
  if (parts !== undefined) {
    return (state as readonly unknown[]).map((own, index) => detachState(parts[index]!, own));
  }
  if (slots === undefined) return state;
  const timeline = state as Timeline;
  return detachedTimeline(timeline, timeline.newest - slots + 1);
}
