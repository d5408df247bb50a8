/*
 * Waiting that follows a limiter's clock and ends on abort, so that tests on a virtual clock need
 * no real time.
 */

import { type Clock, timerOf } from "./clock.ts";

/**
 * Waits for the given number of milliseconds of a clock, or until a signal is aborted.
 *
 * @param clock Waits by its `after` if it brings one, otherwise in real time.
 * @param milliseconds 0 or more; may be longer than a timer can hold.
 * @param signal Ends the wait when aborted; if it already is, at once.
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
