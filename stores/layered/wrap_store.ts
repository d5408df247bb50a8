import type { SyncStore } from "../../core/store.ts";

/** A store that does some things otherwise than the one inside it. */
export function wrapStore(
  inner: SyncStore,
  own: Pick<SyncStore, "run" | "lane" | "delete"> & Partial<SyncStore>,
): SyncStore {
  return {
    accepts: (algorithm) => inner.accepts(algorithm),
    ...(inner.keyOf === undefined
      ? {}
      : { keyOf: (prefix, id, key) => inner.keyOf!(prefix, id, key) }),
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    ...own,
  };
}
