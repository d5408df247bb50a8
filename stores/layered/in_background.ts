import { LONGEST_TIMER } from "../../core/clock.ts";

/** Calls back later. The wait does not keep the process alive. */
export function inBackground(milliseconds: number, run: () => void): unknown {
  const timer: unknown = setTimeout(run, Math.min(milliseconds, LONGEST_TIMER));
  (timer as { unref?(): void }).unref?.();
  return timer;
}
