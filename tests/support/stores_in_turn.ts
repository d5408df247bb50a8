/*
 * Spreads calls over several stores that share state, so that the laws, written for one store, find
 * faults between two connections or two threads.
 */

import { closeNotice } from "../../core/close_notice.ts";
import { bindOnce } from "../../core/bind_once.ts";
import { rebindTo } from "../../core/rebind.ts";
import type {
  AsyncStore,
  BoundVerb,
  Family,
  FamilySpec,
  Steps,
  Store,
  Verb,
} from "../../core/store.ts";

/**
 * One store made of several that share what they hold, such as connections to one server or threads
 * on one memory. Each call goes to the next of them.
 *
 * @param stores At least one; calls go round robin.
 */
export function storesInTurn(stores: readonly Store[]): AsyncStore {
  const rebinds = stores.map((store) => rebindTo(store));
  let calls = 0;

  /** The index of the next store. */
  function next(): number {
    return calls++ % stores.length;
  }
  const { onClose, announce } = closeNotice();

  async function close(): Promise<void> {
    announce();
    await Promise.all(stores.map((store) => store.close()));
  }
  function open(spec: FamilySpec): Family<"async"> {
    const family: Family<"async"> = {
      spec,
      nameOf: (key) => rebinds[0]!.family(family).nameOf(key),
      delete: async (key) => await rebinds[next()]!.family(family).delete(key),
      bind: bindOnce<"async">((verb) => {
        const bound: BoundVerb<unknown, unknown, "async"> = {
          family,
          verb: verb as Verb<unknown, unknown>,
          steps: verb.on(spec.algorithm) as Steps<unknown, unknown>,
          call: async (...call) => await rebinds[next()]!.bound(bound).call(...call),
        };
        return bound as never;
      }),
    };
    // Throws now if the states cannot fit.
    for (const { family: opened } of rebinds) opened(family);
    return family;
  }
  return {
    open,
    async run(operations, now) {
      const index = next();
      return await stores[index]!.run(rebinds[index]!.operations(operations), now);
    },
    maxOperations: stores[0]!.maxOperations,
    ...(stores[0]!.deleteAll && {
      deleteAll: async (prefix: string) => await stores[next()]!.deleteAll!(prefix),
    }),
    onClose,
    close,
    [Symbol.asyncDispose]: close,
  };
}
