/*
 * The timers of stores whose time is the process's own, such as the deadlines of a server's replies. A
 * server goes on while a test's fake timers stand still. They are taken as this module loads, so a fake
 * that is installed later does not reach them, except on Bun, which fakes timers from inside.
 *
 * They have the names of the globals. A runtime without `setImmediate` gets a timer of 0 ms in its place.
 */

/** `globalThis.setTimeout`. */
export const setTimeout: typeof globalThis.setTimeout = globalThis.setTimeout;
/** `globalThis.clearTimeout`. */
export const clearTimeout: typeof globalThis.clearTimeout = globalThis.clearTimeout;
/** Calls a function after all callbacks that already wait. */
export const setImmediate: <Args extends unknown[]>(
  run: (...args: Args) => void,
  ...args: Args
) => unknown = globalThis.setImmediate ?? ((run, ...args) => setTimeout(run, 0, ...args));
/** Waits until other work of the process has gone on. */
export function otherWork(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
/** `globalThis.queueMicrotask`. */
export const queueMicrotask: (run: () => void) => void = globalThis.queueMicrotask;
/** The monotonic clock. */
export const performance: { now(): number } = {
  now: globalThis.performance.now.bind(globalThis.performance),
};
