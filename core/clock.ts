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
 * otherwise the runtime's monotonic clock.
 */
export function passingTime(clock: Clock | undefined): () => number {
  return clock?.after === undefined ? () => performance.now() : clock;
}

/**
 * The longest delay of a timer: 2^31 - 1 ms, some 25 days. A timer with a longer delay fires at
 * once.
 */
export const LONGEST_TIMER: number = 2 ** 31 - 1;

/** Calls `wake` after so many milliseconds of real time; returns a function that cancels the call. */
export function afterRealTime(milliseconds: number, wake: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const end = performance.now() + milliseconds;
  function sleep(): void {
    const left = end - performance.now();
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
