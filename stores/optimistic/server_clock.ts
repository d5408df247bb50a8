/*
 * An estimate of the server's time, which saves asking for it.
 *
 * A reply that carries the server's time was made at some instant between the command and its arrival.
 * So the difference of the clocks is known to within half the round trip (D. Mills, RFC 5905; F.
 * Cristian, "Probabilistic clock synchronization", 1989). The tightest sample counts. Its bound widens
 * with age, because two clocks drift apart, and a newer sample replaces it once it is tighter. Our own
 * clock is `performance.now`, which nobody sets.
 *
 * A sample outside both bounds means that the server's clock was set. It replaces the other at once.
 * Otherwise the estimate never steps back. If a new sample shows that it was early, it stands still
 * until the server has caught up.
 */

import { performance } from "../own_timers.ts";

/** The most by which two clocks drift apart: twice the rate at which NTP slews a clock. */
const DRIFT = 0.001;

/** Makes an estimate of the server's clock, without a sample yet. */
export function serverClock() {
  let offset = Number.NaN;
  let error = Infinity;
  let at = 0;
  let latest = 0;

  return {
    /** Adds a sample: the server's time in ms, and when its command was sent and its reply came. */
    sample(server: number, sent: number, received: number): void {
      const sampled = server - (sent + received) / 2;
      const bound = (received - sent) / 2;
      const aged = error + (received - at) * DRIFT;
      const isLikely = Math.abs(sampled - offset) <= bound + aged;
      if (bound > aged && isLikely) return;
      if (!isLikely) latest = 0;
      offset = sampled;
      error = bound;
      at = received;
    },
    /** Milliseconds of the quickest recent round trip; 0 before the first sample. */
    roundTrip: (): number => error === Infinity ? 0 : 2 * error,
    /** The server's time in whole ms; `undefined` before the first sample. */
    now(): number | undefined {
      if (error === Infinity) return undefined;
      latest = Math.max(latest, Math.floor(performance.now() + offset));
      return latest;
    },
  };
}

/** An estimate of the server's clock. */
export type ServerClock = ReturnType<typeof serverClock>;
