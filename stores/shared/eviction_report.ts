/*
 * Reports that a shared store forgot keys in use, so that its owner can raise a bound that is too
 * small. Evictions come in bursts, so they are summed up, and reported at most once a second.
 */

import { failureReport, guarded } from "../../core/guarded.ts";
import { count, counter, type Thread } from "./threads/thread.ts";

/** Keys in use that a thread had to forget since its last report. */
export interface Evictions {
  /** Those that made room for other keys: `capacity` is too small. */
  readonly forKeys: number;
  /** Those that made room in the arena: `maxBytes` is too small. */
  readonly forNodes: number;
}

/** Receives keys that were forgotten although they held use. */
export type OnEvict = (evictions: Evictions) => unknown;

/** Milliseconds between two reports of a thread. */
const INTERVAL = 1_000;

/**
 * Makes the function that counts an eviction. `onEvict` is called after the current call has ended,
 * so that it cannot make that call fail.
 */
export function evictionReport(thread: Thread, onEvict?: OnEvict): (what: number) => void {
  const report = onEvict && guarded(onEvict, failureReport(undefined));
  let forKeys = 0;
  let forNodes = 0;
  let reportedAt = -Infinity;
  return function evicted(what) {
    count(thread, what);
    if (report === undefined) return;
    if (what === counter.evictedForNodes) forNodes++;
    else forKeys++;
    const now = performance.now();
    if (now - reportedAt < INTERVAL) return;
    reportedAt = now;
    queueMicrotask(() => {
      const evictions = { forKeys, forNodes };
      forKeys = forNodes = 0;
      report(evictions);
    });
  };
}
