import { afterRealTime, type Clock } from "../../core/clock.ts";

/** Waits; an abort of the signal ends it with the signal's reason. */
export function wait(
  clock: Clock,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    let cancel = () => {};
    function done(): void {
      signal?.removeEventListener("abort", abort);
      resolve();
    }
    function abort(): void {
      cancel();
      reject(signal!.reason);
    }
    signal?.addEventListener("abort", abort, { once: true });
    cancel = clock.after?.(milliseconds, done) ?? afterRealTime(milliseconds, done);
  });
}
