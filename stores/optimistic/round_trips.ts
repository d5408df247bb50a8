/*
 * How long a server takes to reply, learned from its replies as TCP learns it: a smoothed time, and
 * its mean deviation (V. Jacobson, "Congestion Avoidance and Control", 1988; RFC 6298). So a distant
 * server is slow, and not down.
 */

import type { EngineContext } from "./engine_context.ts";

/** The round trips to a server, in milliseconds; 0 before the first. */
export interface RoundTrips {
  smoothed: number;
  deviation: number;
}

/** Learns from a round trip, or from a silence that a round trip must exceed. */
export function learnRoundTrip(trips: RoundTrips, milliseconds: number): void {
  if (trips.smoothed === 0) {
    trips.smoothed = milliseconds;
    trips.deviation = milliseconds / 2;
    return;
  }
  const error = milliseconds - trips.smoothed;
  trips.deviation += (Math.abs(error) - trips.deviation) / 4;
  trips.smoothed += error / 8;
}

/** Milliseconds within which nearly all round trips end. */
export function expectedRoundTrip({ smoothed, deviation }: RoundTrips): number {
  return smoothed + 4 * deviation;
}

/** Milliseconds after which a reply, or the last of several in a row, is late. */
export function replyDeadline(
  trips: RoundTrips,
  { deadline, longestDeadline }: Pick<EngineContext, "deadline" | "longestDeadline">,
  inARow = 1,
): number {
  return Math.max(deadline, Math.min(inARow * expectedRoundTrip(trips), longestDeadline));
}
