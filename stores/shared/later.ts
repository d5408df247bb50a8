import { setTimeout } from "../own_timers.ts";

/** Calls a function after some milliseconds. The wait does not keep the process alive. */
export function later(milliseconds: number, call: () => void): void {
  const timer: unknown = setTimeout(call, milliseconds);
  (timer as { unref?(): void }).unref?.();
}
