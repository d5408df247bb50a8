/*
 * The errors of wrong calls. On a store that answers by promises such a call rejects, so that a
 * `.catch` is enough for whatever goes wrong. On any other store it throws.
 */

import { isPromise } from "../maybe_promise.ts";
import type { Store, StoreBase } from "../store.ts";

/** Throws an error, or returns a promise that rejects with it if the store answers by promises. */
export function failOn(store: Store, error: unknown): Promise<never> {
  if (answersByPromises(store)) return Promise.reject(error);
  throw error;
}

/** The same for a call on entries: the first one has the store. */
export function failOnEntries(
  entries: readonly { readonly limiter?: { readonly store?: Store } }[],
  error: unknown,
): Promise<never> {
  const store = entries?.[0]?.limiter?.store;
  if (store === undefined) throw error;
  return failOn(store, error);
}

/** The same methods; each fails as `failOn` does. */
export function failingOn<Methods extends object>(store: Store, methods: Methods): Methods {
  type Method = (...given: readonly unknown[]) => unknown;
  const made = Object.entries(methods).map(([name, method]: [string, Method]) => {
    const failing: Method = (first, second, third) => {
      try {
        return method(first, second, third);
      } catch (error) {
        return failOn(store, error);
      }
    };
    return [name, failing];
  });
  return Object.fromEntries(made) as Methods;
}

/** Asks a store for nothing, which shows how it answers, at an instant that moves no store's time. */
function answersByPromises(store: StoreBase): boolean {
  try {
    const nothing = store.run([], 0);
    if (isPromise(nothing)) nothing.then(undefined, () => {});
    return isPromise(nothing);
  } catch {
    return false;
  }
}
