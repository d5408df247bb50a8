/*
 * The one notice by which a queue learns that units of its key came back, in this thread or, where
 * the store can tell, in another one.
 */

import type { LimiterInternals } from "../limiter/limiter_internals.ts";

/** Whether a limiter hears of units that other threads give back. */
export function hearsOthers({ family }: LimiterInternals): boolean {
  return family.refundNotice !== undefined;
}

/**
 * Calls `wake` whenever units may have come back to a key.
 *
 * @param name The stored key.
 * @returns A function that ends this.
 */
export function onUnitsBack(
  { listeners, family }: LimiterInternals,
  key: string,
  name: string,
  wake: () => void,
): () => void {
  let stopHearing = () => {};
  function hear(): void {
    const notice = family.refundNotice?.(key);
    if (notice !== undefined) stopHearing = notice(() => (hear(), wake()));
  }
  listeners.set(name, wake);
  hear();
  return () => {
    if (listeners.get(name) === wake) listeners.delete(name);
    stopHearing();
  };
}
