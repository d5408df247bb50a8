/*
 * When a server that failed is tried again: calls are answered at once in the meantime.
 *
 * | state | `failures` | a call |
 * |---|---|---|
 * | closed | 0 | goes to the server |
 * | open | 1 or more, `probeAt` to come | is answered here |
 * | half open | 1 or more, `probeAt` passed | the first goes to the server, and postpones `probeAt` |
 *
 * A server that answers, but takes no writes, is open for calls that only look.
 *
 * It has no timer: a call is the probe. The wait doubles from 25 to 250 ms, with a jitter of half of
 * it, so that a server that comes back is found soon, and not by all clients at once.
 */

/** Milliseconds before the first probe, and the most between two. */
const FIRST_PROBE = 25;
const LAST_PROBE = 250;

/** How a server has done of late. */
export interface CircuitBreaker {
  /** Failures in a row; 0 while the server answers. */
  failures: number;
  /** The instant of the next probe, by `performance.now`. */
  probeAt: number;
  /** Whether it has failed at writes only. */
  answersLooks: boolean;
  /** Whether it has ever been reached. */
  hasConnected: boolean;
  /** When it opened last, by `performance.now`. */
  openedAt: number;
  /** Receives what the breaker notices. */
  readonly report: (outage: Outage) => void;
}

/** A server stopped answering calls, or answers them again. */
export interface Outage {
  /** Which of the two. */
  readonly state: "began" | "ended";
  /** Milliseconds since it began. */
  readonly duration: number;
  /** Why it began, in the words of the client or the server; `undefined` at the end. */
  readonly cause: Error | undefined;
}

/**
 * Makes the breaker of a server of which no failure is known.
 *
 * @param report Receives the beginning and the end of each outage; it must not throw.
 */
export function circuitBreaker(report: (outage: Outage) => void = () => {}): CircuitBreaker {
  return {
    failures: 0,
    probeAt: 0,
    answersLooks: false,
    hasConnected: false,
    openedAt: 0,
    report,
  };
}

/**
 * Whether a call may go to the server; once it has failed that call is the probe, and the only one.
 *
 * @param looks Whether it only looks.
 */
export function admitsCall(breaker: CircuitBreaker, looks: boolean): boolean {
  if (breaker.failures === 0 || looks && breaker.answersLooks) return true;
  if (performance.now() < breaker.probeAt) return false;
  postponeProbe(breaker);
  return true;
}

/** Milliseconds until the next probe; 0 while the server answers. */
export function untilProbe({ failures, probeAt }: CircuitBreaker): number {
  return failures === 0 ? 0 : Math.max(0, probeAt - performance.now());
}

/** The server answered. */
export function recordSuccess(breaker: CircuitBreaker): void {
  if (breaker.failures === 0) return;
  breaker.failures = 0;
  const duration = performance.now() - breaker.openedAt;
  breaker.report({ state: "ended", duration, cause: undefined });
}

/** The server did not answer, or not as it should; `answersLooks` if it only takes no writes. */
export function recordFailure(breaker: CircuitBreaker, cause: Error, answersLooks = false): void {
  const isFirst = breaker.failures === 0;
  breaker.answersLooks = answersLooks;
  breaker.failures = Math.min(breaker.failures + 1, 10);
  postponeProbe(breaker);
  if (!isFirst) return;
  breaker.openedAt = performance.now();
  breaker.report({ state: "began", duration: 0, cause });
}

/** The server is not tried again for a while. */
export function postponeProbe(breaker: CircuitBreaker): void {
  const wait = Math.min(LAST_PROBE, FIRST_PROBE * 2 ** (breaker.failures - 1));
  breaker.probeAt = performance.now() + wait * (0.5 + Math.random() / 2);
}
