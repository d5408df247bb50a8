/*
 * Stores made of stores answer as the one inside them does: at once or by promises. They are written
 * once, for both, and typed as a store of either kind here.
 */

import type { Decision } from "../../core/decision.ts";
import { andFinally, type MaybePromise } from "../../core/maybe_promise.ts";
import type { Store, StoreBase } from "../../core/store.ts";

/** A store that answers as the one inside it does. */
type WrappedStore = StoreBase<
  MaybePromise<readonly Decision[]>,
  MaybePromise<Decision>,
  MaybePromise<void>
>;

/**
 * A store that does some things differently from the one inside it.
 *
 * @param forgetAll Forgets what is held here of any key: before the keys of a prefix are deleted, and
 * after that, as calls may have been under way.
 */
export function wrapStore(
  inner: Store,
  own: Pick<WrappedStore, "run" | "internals" | "delete"> & Partial<WrappedStore>,
  forgetAll: () => void,
): Store {
  const made: WrappedStore = {
    accepts: (algorithm) => inner.accepts(algorithm),
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    ...(inner.deleteAll === undefined ? {} : {
      deleteAll(prefix: string) {
        forgetAll();
        return andFinally<void>(() => inner.deleteAll!(prefix), forgetAll);
      },
    }),
    ...own,
    internals: { ...inner.internals, ...own.internals },
  };
  return made as Store;
}
