/*
 * A clock that tests move by hand. Limiters on it wait without real time passing, so tests of
 * waiting are fast and exact to the millisecond.
 */

import { errorMessage } from "../../core/options/checks.ts";
import type { Clock } from "../../core/clock.ts";
import { setImmediate } from "../../stores/own_timers.ts";

/** A clock that moves only on request. */
export interface VirtualClock extends Clock {
  /** The time now. */
  (): number;
  /** Calls `wake` after the given number of milliseconds; returns a function that cancels that. */
  after(milliseconds: number, wake: () => void): () => void;
  /**
   * Lets time pass and wakes the sleepers that are due, in order. A wake may ask to be woken again.
   * Whatever a wake does by promises happens only after this returns; see `pass`.
   *
   * @throws {RangeError} If the milliseconds are no finite number of at least 0.
   */
  advance(milliseconds: number): void;
  /** Like `advance`, but lets promises settle before it starts, between wakes, and at the end. */
  pass(milliseconds: number): Promise<void>;
  /** Sets the clock like an administrator: no time passes, so no sleeper wakes. */
  set(now: number): void;
  /** How many calls of `after` are pending. */
  readonly sleepers: number;
}

interface Sleeper {
  /** In milliseconds passed since the start, which `set` does not change. */
  readonly due: number;
  readonly wake: () => void;
}

/**
 * A clock for `limiter(..., { clock })`: a test controls time and waiting.
 *
 * @param now The time at the start, in milliseconds.
 *
 * @example
 * ```ts
 * import { acquire, gcra, limiter } from "tidegate";
 * import { virtualClock } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const clock = virtualClock(1_000);
 * const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), { clock });
 * api.consume("key");
 * let admitted = false;
 * acquire(api, "key").then(() => admitted = true);
 * await clock.pass(3_599_999);
 * assert.equal(admitted, false);
 * await clock.pass(1);
 * assert.equal(admitted, true);
 * ```
 */
export function virtualClock(now = 0): VirtualClock {
  const sleepers = new Set<Sleeper>();
  let time = now;
  let passed = 0;

  /** Advances to a number of passed milliseconds; if they have passed already, does nothing. */
  function reach(instant: number): void {
    const milliseconds = Math.max(0, instant - passed);
    time += milliseconds;
    passed += milliseconds;
  }

  /** The end of a span that begins now, in passed milliseconds. */
  function endOf(milliseconds: number): number {
    if (Number.isFinite(milliseconds) && milliseconds >= 0) return passed + milliseconds;
    const rule = "it must be finite milliseconds of at least 0 (set steps a clock back)";
    throw new RangeError(errorMessage("let time pass", rule, milliseconds));
  }

  /** Advances to the first sleeper due by `end` and wakes it; returns whether there was one. */
  function wakeNext(end: number): boolean {
    let next: Sleeper | undefined;
    for (const sleeper of sleepers) {
      if (sleeper.due <= end && (next === undefined || sleeper.due < next.due)) next = sleeper;
    }
    if (next === undefined) return false;
    sleepers.delete(next);
    reach(next.due);
    next.wake();
    return true;
  }
  const clock = (): number => time;
  const methods = {
    after(milliseconds: number, wake: () => void): () => void {
      const sleeper = { due: passed + milliseconds, wake };
      sleepers.add(sleeper);
      return () => void sleepers.delete(sleeper);
    },
    advance(milliseconds: number): void {
      const end = endOf(milliseconds);
      while (wakeNext(end));
      reach(end);
    },
    async pass(milliseconds: number): Promise<void> {
      const end = endOf(milliseconds);
      do await settled(); while (wakeNext(end));
      reach(end);
      await settled();
    },
    set(to: number): void {
      time = to;
    },
  };
  return Object.defineProperty(Object.assign(clock, methods), "sleepers", {
    get: () => sleepers.size,
  }) as VirtualClock;
}

/** Resolves once all promises that were settled, and those settled by them, have been handled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
