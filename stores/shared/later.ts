/** Calls a function after some milliseconds, if the process lives on until then: no call keeps it alive. */
export function later(milliseconds: number, call: () => void): void {
  const timer: unknown = setTimeout(call, milliseconds);
  (timer as { unref?(): void }).unref?.();
}
