/*
 * The notice of units that come back to a key in this thread: by a `refund`, a `release`, a `settle`
 * or a reset of any limiter on the store. A limiter gives it; whoever waits for the units listens.
 */

import type { Store } from "../store.ts";

/** The listeners of a store, by stored key. */
export type Listeners = Map<string, () => void>;

const listenersOfStores = new WeakMap<Store, Listeners>();

/** The listeners of a store: shared by all of its limiters in the thread. */
export function listenersOf(store: Store): Listeners {
  let listeners = listenersOfStores.get(store);
  if (listeners === undefined) listenersOfStores.set(store, listeners = new Map());
  return listeners;
}
