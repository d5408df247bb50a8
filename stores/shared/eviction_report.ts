/*
 * Reports that a shared store forgot keys in use, so that its owner can raise a bound that is too
 * small. Evictions come in bursts, so a thread sums them up, and reports them at most once a second.
 * It reports the first evictions at once, later ones at the end of each second, and the last ones
 * when the store is closed.
 */

import { failureReport, guarded } from "../../core/guarded.ts";
import { later } from "./later.ts";
import { count, counter, type Thread } from "./threads/thread.ts";
import { performance, queueMicrotask } from "../own_timers.ts";

/** Keys in use that a thread had to forget since its last report. */
export interface Evictions {
  /** Keys that made room for other keys: `capacity` is too small. */
  readonly forKeys: number;
  /** Keys that made room in the arena: `maxBytes` is too small. */
  readonly forNodes: number;
}

/** Receives keys that were forgotten although they held use. */
export type OnEvict = (evictions: Evictions) => unknown;

/** How a thread counts and reports evictions. */
export interface EvictionReport {
  /** Counts an eviction; `what` is a counter of the thread. */
  evicted(what: number): void;
  /** Reports evictions that are not reported yet. */
  close(): void;
}

/** Milliseconds between two reports of a thread. */
const INTERVAL = 1_000;

/**
 * Makes the report of a thread. `onEvict` is called after the current call has ended, so that it
 * cannot make that call fail.
 */
export function evictionReport(thread: Thread, onEvict?: OnEvict): EvictionReport {
  const report = onEvict && guarded(onEvict, failureReport(undefined));
  let forKeys = 0;
  let forNodes = 0;
  let isScheduled = false;
  let reportedAt = -Infinity;

  function send(): void {
    isScheduled = false;
    if (forKeys === 0 && forNodes === 0) return;
    const evictions = { forKeys, forNodes };
    forKeys = forNodes = 0;
    reportedAt = performance.now();
    report?.(evictions);
  }

  return {
    evicted(what) {
      count(thread, what);
      if (report === undefined) return;
      if (what === counter.evictedForNodes) forNodes++;
      else forKeys++;
      if (isScheduled) return;
      isScheduled = true;
      const wait = reportedAt + INTERVAL - performance.now();
      if (wait > 0) later(Math.ceil(wait), send);
      else queueMicrotask(send);
    },
    close: () => queueMicrotask(send),
  };
}
