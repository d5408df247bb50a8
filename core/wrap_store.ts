/*
 * Stores made of stores. A wrapper opens a family of its own for each inner family, so that no call
 * bypasses it. It explicitly passes on whatever it does not define itself.
 *
 * Such stores answer as the inner one does, at once or by promises. They are written once for both
 * kinds, so here they have the type of a store of either kind.
 */

import { bindOnce } from "./bind_once.ts";
import { closeNotice } from "./close_notice.ts";
import type { MaybePromise } from "./maybe_promise.ts";
import type { BoundVerb, Family, FamilySpec, Operation, Store, StoreBase } from "./store.ts";

// Calls of all verbs pass through a wrapper.
// deno-lint-ignore no-explicit-any
type AnyBound = BoundVerb<any, any>;

/** A single call of any verb. */
export type AnyCall = (
  key: string,
  // deno-lint-ignore no-explicit-any
  argument: any,
  now: number | undefined,
  // deno-lint-ignore no-explicit-any
) => MaybePromise<any>;

/** The parts of a store that differ from the one inside it. */
export interface Wrapping {
  /** Opens the inner family; default is the inner store's `open`. */
  open?(spec: FamilySpec): Family;
  /** Makes the calls of a verb from the inner bound verb; default is that verb's own call. */
  call?(inner: AnyBound): AnyCall;
  /** Runs operations that are bound by the inner store; default is the inner store's `run`. */
  run?(operations: readonly Operation[], now: number | undefined): MaybePromise<readonly unknown[]>;
  /** Forgets a key of an inner family; default is the family's `delete`. */
  delete?(inner: Family, key: string): MaybePromise<void>;
  /** Forgets all keys of a prefix; default is the inner store's `deleteAll`, if it has one. */
  deleteAll?: ((prefix: string) => MaybePromise<void>) | undefined;
  /** Closes the store; default is the inner store's `close`. */
  close?(): MaybePromise<void>;
  /** Whether the store still answers when the inner one was closed by itself. */
  readonly outlivesInner?: boolean;
}

/** A bound verb of a wrapper. */
interface WrappedVerb extends AnyBound {
  readonly inner: AnyBound;
}

/**
 * A store that does some things differently from its inner store. It also has everything else that
 * the inner store has, such as statistics.
 */
export function wrapStore(inner: Store, own: Wrapping): Store {
  const base: StoreBase = inner;
  const {
    open = (spec) => base.open(spec),
    run = (operations, now) => base.run(operations, now),
  } = own;
  const notice = closeNotice();
  /** Whether the inner store already announces its end here, or must not. */
  let isLinked = own.outlivesInner ?? false;

  function close(): MaybePromise<void> {
    try {
      return own.close === undefined ? base.close() : own.close();
    } finally {
      notice.announce();
    }
  }

  function onClose(ended: () => void): void {
    notice.onClose(ended);
    if (isLinked) return;
    isLinked = true;
    base.onClose?.(notice.announce);
  }

  const made: StoreBase = {
    ...base,
    maxOperations: base.maxOperations,
    slotOf: base.slotOf,
    ...(base.list && { list: (prefix, algorithm) => base.list!(prefix, algorithm) }),
    open: (spec) => wrapFamily(open(spec), own),
    run: (operations, now) =>
      run(
        operations.map((operation) => ({
          ...operation,
          bound: (operation.bound as WrappedVerb).inner,
        })),
        now,
      ) as Promise<readonly unknown[]>,
    onClose,
    close: () => close() as Promise<void>,
    [Symbol.asyncDispose]: async () => await close(),
    // The inner store's own method would close only the inner store.
    ...(Symbol.dispose in base && { [Symbol.dispose]: () => void close() }),
  };
  const { deleteAll = base.deleteAll && ((prefix) => base.deleteAll!(prefix)) } = own;
  if (deleteAll === undefined) return made as Store;
  return { ...made, deleteAll: (prefix: string) => deleteAll(prefix) as Promise<void> } as Store;
}

function wrapFamily(inner: Family, { call, delete: forget }: Wrapping): Family {
  const family: Family = {
    ...inner,
    bind: bindOnce((verb) => {
      const bound = inner.bind(verb);
      const own = call === undefined ? bound.call : call(bound);
      const { steps } = bound;
      const made: WrappedVerb = {
        family,
        verb,
        steps,
        call: own as AnyBound["call"],
        inner: bound,
      };
      return made;
    }),
    delete: (key) =>
      (forget === undefined ? inner.delete(key) : forget(inner, key)) as Promise<void>,
  };
  return family;
}
