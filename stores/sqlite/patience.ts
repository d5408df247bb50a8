/*
 * Waiting for SQLite's lock. SQLite sleeps for longer and longer, so whoever has waited long waits on,
 * while a newcomer gets the lock. Short steps of random length are fair and cost little.
 */

/** Milliseconds of a step, at least. */
const STEP = 0.1;
/** Up to so many more, by chance. */
const JITTER = 0.2;

/** How long calls wait for a lock. */
export interface Patience {
  /** Begins to wait: the function waits a step, and returns whether there was time for it. */
  start(): () => boolean;
  /** The lock was had. */
  reward(): void;
}

/** The clock that waiting goes by, in milliseconds. */
export interface WaitingClock {
  /** The time now, which never steps. */
  now(): number;
  /** Stops the thread for so long. */
  wait(milliseconds: number): void;
}

const OWN_CLOCK: WaitingClock = {
  now: () => performance.now(),
  wait: (milliseconds) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
  },
};

/**
 * Waits for at most so many milliseconds a call. After a call that waited in vain, others try once
 * without waiting until one of them succeeds: a process that is stopped while it holds the lock must
 * not stop the others, call after call.
 */
export function patience(timeout: number, clock: WaitingClock = OWN_CLOCK): Patience {
  let isLost = false;
  return {
    start() {
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
    reward() {
      isLost = false;
    },
  };
}
