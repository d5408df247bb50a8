/*
 * Decides when a server that failed is tried again. Until then, calls are answered at once.
 *
 * | state | `failures` | a call |
 * |---|---|---|
 * | closed | 0 | goes to the server |
 * | open | 1 or more, `probeAt` to come | is answered here |
 * | half open | 1 or more, `probeAt` passed | the first goes to the server, and postpones `probeAt` |
 *
 * A server that answers, but takes no writes, is still tried for calls that only look.
 *
 * It has no timer, because a call is the probe. The wait doubles from 25 to 250 ms, with a jitter of
 * half of it, so that clients find a recovered server soon, and not all at once.
 */

import { performance } from "../own_timers.ts";
import type { RoundTrips } from "./round_trips.ts";

/** Milliseconds before the first probe, and the most between two. */
const FIRST_PROBE = 25;
const LAST_PROBE = 250;

/** The recent behaviour of a server. */
export interface CircuitBreaker {
  /** Failures in a row; 0 while the server answers. */
  failures: number;
  /** The instant of the next probe, by `performance.now`. */
  probeAt: number;
  /** Whether it has failed at writes only. */
  answersLooks: boolean;
  /** Whether it has ever been reached. */
  hasConnected: boolean;
  /** The instant at which it last opened, by `performance.now`. */
  openedAt: number;
  /** The reason of the last failure; `undefined` while the server answers. */
  cause: Error | undefined;
  /** The round trips to it. */
  readonly trips: RoundTrips;
  /** Receives the beginning and the end of each outage. */
  readonly report: (outage: Outage) => void;
}

/** A server stopped answering calls, for another reason than a moment ago, or answers them again. */
export interface Outage {
  /**
   * The event: whether the server stopped answering or answers again. An outage whose cause changes
   * is reported as `"began"` again, with its duration so far.
   */
  readonly state: "began" | "ended";
  /** Milliseconds since the outage began. */
  readonly duration: number;
  /** The reason of the outage, in the words of the client or the server; `undefined` at its end. */
  readonly cause: Error | undefined;
}

/**
 * Makes the breaker of a server without a known failure.
 *
 * @param report Receives the beginning and the end of each outage. It must not throw.
 */
export function circuitBreaker(report: (outage: Outage) => void = () => {}): CircuitBreaker {
  return {
    failures: 0,
    probeAt: 0,
    answersLooks: false,
    hasConnected: false,
    openedAt: 0,
    cause: undefined,
    trips: { smoothed: 0, deviation: 0 },
    report,
  };
}

/**
 * Whether a call may go to the server. After a failure, such a call is the probe, and the only one.
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

/** Notes that the server answered. */
export function recordSuccess(breaker: CircuitBreaker): void {
  if (breaker.failures === 0) return;
  breaker.failures = 0;
  breaker.cause = undefined;
  const duration = performance.now() - breaker.openedAt;
  breaker.report({ state: "ended", duration, cause: undefined });
}

/** Notes that the server did not answer properly. `answersLooks`: it only rejects writes. */
export function recordFailure(breaker: CircuitBreaker, cause: Error, answersLooks = false): void {
  const { failures, cause: before } = breaker;
  const now = performance.now();
  breaker.answersLooks = answersLooks;
  breaker.failures = Math.min(failures + 1, 10);
  breaker.cause = cause;
  postponeProbe(breaker);
  if (failures === 0) breaker.openedAt = now;
  else if (before !== undefined && kindOf(before) === kindOf(cause)) return;
  breaker.report({ state: "began", duration: now - breaker.openedAt, cause });
}

/** The words of an error without its numbers, which are times, addresses and places. */
function kindOf({ message }: Error): string {
  return message.replace(/\d+/g, "");
}

/** Lets the server rest for a while before it is tried again. */
export function postponeProbe(breaker: CircuitBreaker): void {
  const wait = Math.min(LAST_PROBE, FIRST_PROBE * 2 ** (breaker.failures - 1));
  breaker.probeAt = performance.now() + wait * (0.5 + Math.random() / 2);
}
