/*
 * The runtime's own time in a test's hands, for code that is right to take no other: what happens in
 * the last millisecond of a wait cannot be seen by a clock that runs.
 */

/** Monotonic time, and the timers that wait for it. */
export interface RealTime {
  /** The answer of `performance.now`, in milliseconds. */
  passed: number;
  /** The timers that are set, the oldest first. */
  readonly timers: { readonly wake: () => void; readonly milliseconds: number }[];
}

/** Runs a test that waits for nothing while `performance.now` and `setTimeout` are its own. */
export function inOwnTime(test: (time: RealTime) => void): void {
  const { setTimeout } = globalThis;
  const own = Object.getOwnPropertyDescriptor(performance, "now");
  const time: RealTime = { passed: 0, timers: [] };
  Object.defineProperty(performance, "now", { value: () => time.passed, configurable: true });
  globalThis.setTimeout = ((wake: () => void, milliseconds: number) => {
    time.timers.push({ wake, milliseconds });
  }) as unknown as typeof setTimeout;
  try {
    test(time);
  } finally {
    globalThis.setTimeout = setTimeout;
    if (own === undefined) Reflect.deleteProperty(performance, "now");
    else Object.defineProperty(performance, "now", own);
  }
}
