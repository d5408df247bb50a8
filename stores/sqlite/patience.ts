/*
 * Waits for SQLite's lock. SQLite's own waits grow longer and longer, so a newcomer gets the lock before
 * a process that has waited long. Short waits of random length are fair, and cost little.
 */

import { performance } from "../own_timers.ts";

/** The least milliseconds of a step. */
const STEP = 0.1;
/** The most milliseconds that chance adds to a step. */
const JITTER = 0.2;

/** The clock that measures waits, in milliseconds. */
export interface WaitingClock {
  /** The time now, which never steps. */
  now(): number;
  /** Stops the thread for that time. */
  wait(milliseconds: number): void;
}

const OWN_CLOCK: WaitingClock = {
  now: () => performance.now(),
  wait: (milliseconds) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
  },
};

/**
 * Waits at most `timeout` milliseconds a call. After a call that waited in vain, other calls do not wait
 * at all until one of them succeeds. Otherwise a process that is stopped while it holds the lock would
 * hold up every call of the others.
 */
export function patience(timeout: number, clock: WaitingClock = OWN_CLOCK) {
  let isLost = false;
  return {
    /** Begins to wait: the function waits a step, and returns whether there was time for it. */
    start(): () => boolean {
      const end = isLost ? -Infinity : clock.now() + timeout;
      return function waitStep() {
        const left = end - clock.now();
        if (left <= 0) {
          isLost = true;
          return false;
        }
        clock.wait(Math.min(left, STEP + JITTER * Math.random()));
        return true;
      };
    },
    /** Notes that a call got the lock. */
    reward(): void {
      isLost = false;
    },
  };
}
