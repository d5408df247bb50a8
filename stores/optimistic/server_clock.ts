/*
 * The time on the server, without asking.
 *
 * A reply that carries the server's time was made somewhere between sending and receiving; so the
 * server's clock less ours is known to within half the round trip (D. Mills, RFC 5905; F. Cristian,
 * "Probabilistic clock synchronization", 1989). The tightest sample counts, and its bound widens
 * with age, because two clocks drift apart; a newer one takes over once it is tighter. Our own clock is
 * `performance.now`, which nobody sets. A sample outside of what both bounds allow means that the
 * server's clock was set, and takes over at once. Otherwise the time that was returned never steps
 * back: where a new sample says that it was early, it stands still until that is no longer so.
 */

/** How far two clocks may drift apart: the most that NTP slews a clock by, twice. */
const DRIFT = 0.001;

/** Makes an estimate of the server's clock, which knows nothing yet. */
export function serverClock() {
  let offset = Number.NaN;
  let error = Infinity;
  let at = 0;
  let latest = 0;

  return {
    /** Takes in a sample: the server's time in ms, in a reply to what was sent and came back then. */
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
    /** Milliseconds of the quickest round trip of late; 0 before the first sample. */
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
