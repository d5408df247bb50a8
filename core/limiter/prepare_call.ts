/*
 * A limiter's calls on its store, prepared once: how a key is stored, the operation of a call, and
 * the fastest way to run it. Limiters, stores made of stores and adapters all prepare calls here.
 */

import type { Algorithm } from "../algorithm.ts";
import { allOf, andThen } from "../maybe_promise.ts";
import type { Decision } from "../decision.ts";
import type { Operation, PreparedCall, Replaced, Store } from "../store.ts";
import { storedKey } from "../stored_key.ts";

/**
 * The decision of a store, or a promise of it: of a store that answers by promises, whoever reads it
 * goes through `andThen`. It is typed as a decision, as limiters are written once for both kinds.
 */
export type MaybeDecision = Decision;

/** The calls on one store with one prefix and one algorithm. */
export interface PreparedCalls {
  /** Decides a call, by the store's own prepared call if it has one. */
  readonly decide: PreparedCall<MaybeDecision>;
  /** Runs another algorithm, which keeps states in the same way, on one of the keys. */
  run(key: string, algorithm: Algorithm, cost: number, at: number | undefined): MaybeDecision;
  /**
   * The operation of a call, of another algorithm that keeps states in the same way if one is
   * given.
   */
  operation(key: string, cost: number, stepped?: Algorithm): Operation;
  /** The key as it is stored. */
  storedKey(key: string): string;
  /** Forgets a key, and the one that it takes over from. */
  delete(key: string): void | Promise<void>;
}

/** Binds a prefix and an algorithm to a store. */
export function prepareCall(
  store: Store,
  prefix: string,
  algorithm: Algorithm,
  replaces?: Omit<Replaced, "key">,
): PreparedCalls {
  const stored = (key: string) => storedKeyIn(store, prefix, algorithm.id, key);

  function replacedBy(key: string): Replaced | undefined {
    if (replaces === undefined) return undefined;
    const { algorithm, mode } = replaces;
    return { key: storedKeyIn(store, prefix, algorithm.id, key), algorithm, mode };
  }

  function operation(key: string, cost: number, stepped = algorithm, dry = false): Operation {
    return { key: stored(key), algorithm: stepped, cost, dry, replaces: replacedBy(key) };
  }

  function runOne(operation: Operation, at: number | undefined): MaybeDecision {
    return andThen(store.run([operation], at), (decisions) => decisions[0]!) as MaybeDecision;
  }

  const own = replaces === undefined
    ? store.internals?.prepare?.(prefix, algorithm) as PreparedCall<MaybeDecision> | undefined
    : undefined;
  return {
    decide: own ?? ((key, cost, dry, at) => runOne(operation(key, cost, algorithm, dry), at)),
    run: (key, stepped, cost, at) => runOne(operation(key, cost, stepped), at),
    operation,
    storedKey: stored,
    delete(key) {
      const old = replacedBy(key);
      if (old === undefined) return store.delete(stored(key));
      const both = allOf<void>([store.delete(stored(key)), store.delete(old.key)]);
      return andThen(both, () => {}) as void | Promise<void>;
    },
  };
}

/** How a store names a key: its own way, or `storedKey`. */
export function storedKeyIn(store: Store, prefix: string, id: string, key: string): string {
  return store.internals?.keyOf?.(prefix, id, key) ?? storedKey(prefix, id, key);
}
