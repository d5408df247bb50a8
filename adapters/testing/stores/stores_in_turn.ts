/*
 * Spreads calls over several stores that share state, so that the laws, written for one store, find
 * faults between two connections or two threads.
 */

import type { Decision } from "../../../core/decision.ts";
import type { MaybePromise } from "../../../core/maybe_promise.ts";
import type { AsyncStore, PreparedCall, Store } from "../../../core/store.ts";

/**
 * One store made of several that share what they hold, such as connections to one server or threads
 * on one memory. Each call goes to the next of them.
 *
 * @param stores At least one; calls go round robin.
 *
 * @example
 * ```ts
 * import { memoryStore } from "tidegate";
 * import { storeLaws, storesInTurn } from "tidegate/testing";
 *
 * const laws = storeLaws(() => {
 *   const store = memoryStore();
 *   return storesInTurn([store, store]); // in practice: two connections to one server
 * });
 * for (const law of laws) await law.run({ numRuns: 5 });
 * ```
 */
export function storesInTurn(stores: readonly Store[]): AsyncStore {
  const first = stores[0] as Store;
  let calls = 0;

  function next(): Store {
    return stores[calls++ % stores.length] as Store;
  }
  async function close(): Promise<void> {
    await Promise.all(stores.map((store) => store.close()));
  }
  return {
    run: async (operations, now) => await next().run(operations, now),
    accepts: (algorithm) => first.accepts(algorithm),
    delete: async (key) => await next().delete(key),
    ...(first.deleteAll && { deleteAll: async (prefix) => await next().deleteAll!(prefix) }),
    close,
    [Symbol.asyncDispose]: close,
    internals: first.internals && {
      ...first.internals,
      prepare: first.internals.prepare && function prepare(prefix, algorithm) {
        const prepared = stores.map((store) =>
          store.internals?.prepare?.(prefix, algorithm) as PreparedCall<MaybePromise<Decision>>
        );
        return async (key, cost, dry, now) => {
          return await prepared[calls++ % prepared.length]!(key, cost, dry, now);
        };
      },
    },
  };
}
