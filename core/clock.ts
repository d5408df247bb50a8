import { isDateFaked } from "./faked_date.ts";

/**
 * A limiter's clock: milliseconds since the Unix epoch, as `Date.now` returns them. `Date.now`
 * itself is one.
 *
 * A clock that does not follow real time, such as a test's clock, has `after` as well, so that
 * waiting follows it.
 */
export interface Clock {
  /** The time now. */
  (): number;
  /**
   * Calls `wake` once so many milliseconds have passed. Returns a function that cancels the call.
   *
   * @param milliseconds 0 or more; may be longer than a timer can hold.
   */
  after?(milliseconds: number, wake: () => void): () => void;
}

/**
 * The clock in milliseconds that measures waits and deadlines: the given clock if it has `after`,
 * otherwise the time that passes for this process.
 */
export function passingTime(clock: Clock | undefined): () => number {
  return clock?.after === undefined ? timePassed : clock;
}

const ownSetTimeout = globalThis.setTimeout;

/** Whether a test has replaced the timers, and `Date` with them. */
function areTimersFaked(): boolean {
  return globalThis.setTimeout !== ownSetTimeout && isDateFaked();
}

/**
 * The time that waits take: by the runtime's monotonic clock, or by a test's `Date` while fake timers
 * are installed, because not all of them replace `performance`.
 */
const timePassed = monotonicUnless(areTimersFaked);

/**
 * Milliseconds by the runtime's monotonic clock, or by a test's `Date` while a condition holds. The
 * time goes on from one to the other, and never back.
 */
export function monotonicUnless(isFaked: () => boolean): () => number {
  let last = 0;
  let lead = 0;
  let readsDate = false;
  return function now() {
    const isFakedNow = isFaked();
    const read = isFakedNow ? Date.now() : performance.now();
    if (isFakedNow !== readsDate || read + lead < last) {
      readsDate = isFakedNow;
      // Whole milliseconds keep the time of a test exact.
      lead = Math.ceil(last - read);
    }
    return last = read + lead;
  };
}

/**
 * The longest delay of a timer: 2^31 - 1 ms, some 25 days. A timer with a longer delay fires at
 * once.
 */
export const LONGEST_TIMER: number = 2 ** 31 - 1;

/** Calls `wake` after so many milliseconds of real time; returns a function that cancels the call. */
export function afterRealTime(milliseconds: number, wake: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const end = timePassed() + milliseconds;
  function sleep(): void {
    const left = end - timePassed();
    // A timer may fire a little early, and a long sleep takes several timers.
    if (left <= 0) wake();
    else timer = setTimeout(sleep, Math.min(Math.ceil(left), LONGEST_TIMER));
  }
  timer = setTimeout(sleep, Math.min(milliseconds, LONGEST_TIMER));
  return () => clearTimeout(timer);
}

/** The function that waits on a clock: the clock's own `after`, or a timer in real time. */
export function timerOf(clock: Pick<Clock, "after"> | undefined): NonNullable<Clock["after"]> {
  return clock?.after === undefined ? afterRealTime : (time, wake) => clock.after!(time, wake);
}
