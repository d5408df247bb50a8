/**
 * A limiter's clock: milliseconds since the Unix epoch, as `Date.now` returns them. `Date.now`
 * itself is one.
 *
 * A clock of another time, such as a test's, brings `after` as well, so that waiting follows it.
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
 * The milliseconds by which waits and deadlines on a clock are measured: those of the clock itself
 * if it brings `after`, otherwise those of the runtime's monotonic clock.
 */
export function passingTime(clock: Clock | undefined): () => number {
  return clock?.after === undefined ? () => performance.now() : clock;
}

/** The longest that a timer holds: 2^31 - 1 ms, some 25 days. A longer one fires at once. */
export const LONGEST_TIMER: number = 2 ** 31 - 1;

/** Calls `wake` after so many milliseconds of real time; returns a function that cancels the call. */
export function afterRealTime(milliseconds: number, wake: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const end = performance.now() + milliseconds;
  function sleep(): void {
    const left = end - performance.now();
    // A timer may fire a little early, and a long sleep takes several.
    if (left <= 0) wake();
    else timer = setTimeout(sleep, Math.min(Math.ceil(left), LONGEST_TIMER));
  }
  timer = setTimeout(sleep, Math.min(milliseconds, LONGEST_TIMER));
  return () => clearTimeout(timer);
}

/** Lets the time of a clock pass: by its own `after`, or in real time. */
export function timerOf(clock: Pick<Clock, "after"> | undefined): NonNullable<Clock["after"]> {
  return clock?.after === undefined ? afterRealTime : (time, wake) => clock.after!(time, wake);
}
