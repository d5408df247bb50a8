/** Milliseconds before the first probe, and the most between two. */
const FIRST_PROBE = 25;
const LAST_PROBE = 250;

/** Decides whether a server that failed is worth asking again. */
export interface CircuitBreaker {
  /** Whether a call may go to the server; in bad times it is then the probe, and the only one. */
  admits(): boolean;
  /** Milliseconds until the next probe; 0 in good times. */
  untilProbe(): number;
  /** The server answered. */
  succeeded(): void;
  /** The server did not answer, or not as it should. */
  failed(): void;
}

/**
 * Makes a circuit breaker.
 *
 * | state | `failures` | a call |
 * |---|---|---|
 * | closed | 0 | goes to the server |
 * | open | 1 or more, `probeAt` to come | is answered here |
 * | half open | 1 or more, `probeAt` passed | the first goes to the server, and puts `probeAt` off |
 *
 * There is no timer in it: a call is the probe. The wait doubles from 25 to 250 ms, with a jitter of
 * half of it, so that a server that comes back is found soon, and not by all at once.
 */
export function circuitBreaker(): CircuitBreaker {
  let failures = 0;
  let probeAt = 0;

  function putOff(): void {
    const wait = Math.min(LAST_PROBE, FIRST_PROBE * 2 ** (failures - 1));
    probeAt = performance.now() + wait * (0.5 + Math.random() / 2);
  }

  return {
    admits() {
      if (failures === 0) return true;
      if (performance.now() < probeAt) return false;
      putOff();
      return true;
    },
    untilProbe: () => failures === 0 ? 0 : Math.max(0, probeAt - performance.now()),
    succeeded() {
      failures = 0;
    },
    failed() {
      failures = Math.min(failures + 1, 10);
      putOff();
    },
  };
}
