/*
 * Waiting that follows a limiter's clock and ends on abort, so that tests on a virtual clock need
 * no real time.
 */

import { type Clock, timerOf } from "./clock.ts";

/**
 * Waits for the given number of milliseconds of a clock, or until a signal is aborted.
 *
 * @param clock Its `after` does the waiting if it has one; otherwise the wait is in real time.
 * @param milliseconds 0 or more; may be longer than a timer can hold.
 * @param signal Ends the wait when aborted; at once if it is aborted already.
 * @returns Whether the whole time has passed.
 */
export function sleep(
  clock: Pick<Clock, "after"> | undefined,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    let cancel = () => {};
    function end(elapsed: boolean): void {
      signal?.removeEventListener("abort", abort);
      resolve(elapsed);
    }
    function abort(): void {
      cancel();
      end(false);
    }
    signal?.addEventListener("abort", abort);
    const wake = () => end(true);
    cancel = timerOf(clock)(milliseconds, wake);
  });
}
