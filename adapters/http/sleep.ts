import { afterRealTime, type Clock } from "../../core/clock.ts";

/**
 * Waits, by the clock if that can.
 *
 * @returns Whether so many milliseconds went by before the signal was aborted.
 */
export function sleep(
  clock: Clock | undefined,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    let cancel = () => {};
    const abort = () => end(false);
    const done = () => end(true);
    function end(elapsed: boolean): void {
      cancel();
      signal?.removeEventListener("abort", abort);
      resolve(elapsed);
    }
    signal?.addEventListener("abort", abort);
    cancel = clock?.after?.(milliseconds, done) ?? afterRealTime(milliseconds, done);
  });
}
