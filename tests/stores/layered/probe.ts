/*
 * A store under test: the memory store, which counts the calls that reach it, fails on demand, and
 * answers at once, by promises or by thenables.
 */

import { wrapStore } from "../../../core/wrap_store.ts";
import {
  type Algorithm,
  gcra,
  memoryStore,
  StoreUnavailableError,
  type SyncStore,
} from "../../../mod.ts";

/** How a store answers. */
export type Answers = <Value>(make: () => Value) => Value;

export const atOnce: Answers = (make) => make();

export const byPromise: Answers = (make) => new Promise((resolve) => resolve(make())) as never;

/** A promise of no class that the runtime knows, as of another library or realm. */
export const byThenable: Answers = (make) => ({
  then: (...next: Parameters<Promise<unknown>["then"]>) =>
    Promise.resolve().then(make).then(...next),
} as never);

/** A store, and what a test may see and change of it. */
export interface Probe {
  /** Typed as one that answers at once, whatever it does. */
  readonly store: SyncStore;
  /** Calls that reached it. */
  calls: number;
  /** The error of every call; `undefined` if calls succeed. */
  failure: Error | undefined;
}

/** A store around a memory store. */
export function probe(answers: Answers = atOnce, inner: SyncStore = memoryStore()): Probe {
  function call<Value>(make: () => Value): Value {
    made.calls++;
    return answers(() => {
      if (made.failure !== undefined) throw made.failure;
      return make();
    });
  }
  const made: Probe = {
    calls: 0,
    failure: undefined,
    store: wrapStore(inner, {
      call: (bound) => (...request) => call(() => bound.call(...request)),
      run: (operations, now) => call(() => inner.run(operations, now)),
      delete: (family, key) => call(() => family.delete(key)),
      deleteAll: (prefix) => call(() => inner.deleteAll!(prefix)),
      close: () => answers === atOnce ? inner.close() : Promise.resolve(inner.close()),
    }) as SyncStore,
  };
  return made;
}

export const away: Error = new StoreUnavailableError("Cannot decide", "no");

/** A hundred calls, and one more each hour. */
export const hourly: Algorithm = gcra({ limit: 100, period: "100h", burst: 100 });
