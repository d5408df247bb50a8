import type { SyncStore } from "../../core/store.ts";

/** A store that does some things otherwise than the one inside it. */
export function wrapStore(
  inner: SyncStore,
  own: Pick<SyncStore, "run" | "internals" | "delete"> & Partial<SyncStore>,
): SyncStore {
  return {
    accepts: (algorithm) => inner.accepts(algorithm),
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    ...own,
    internals: { ...inner.internals, ...own.internals },
  };
}
