import { LONGEST_TIMER } from "./clock.ts";

/** Calls back later, and answers with what cancels that. The wait does not keep the process alive. */
export function inBackground(milliseconds: number, run: () => void): () => void {
  const timer: unknown = setTimeout(run, Math.min(milliseconds, LONGEST_TIMER));
  (timer as { unref?(): void }).unref?.();
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}
