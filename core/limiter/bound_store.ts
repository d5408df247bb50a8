import type { Algorithm } from "../algorithm.ts";
import { andThen, isPromise } from "../maybe_promise.ts";
import type { Decision } from "../decision.ts";
import type { Operation, PreparedCall, Replaced, ReplaceMode, Store } from "../store.ts";
import { storedKey } from "../stored_key.ts";

/**
 * What a store answers. The limiter is written once for both kinds of store: of one that answers
 * by promises this is a promise, and whatever looks into it goes through `andThen`.
 */
export type MaybeDecision = Decision;

/** A store, with prefix and algorithm bound. */
export interface BoundStore {
  /** Decides a call of the limiter, by the store's lane if it has one. */
  readonly decide: PreparedCall<MaybeDecision>;
  /** Runs another step on one of the limiter's keys. */
  run(key: string, algorithm: Algorithm, cost: number, at: number | undefined): MaybeDecision;
  /** The operation of a call. */
  operation(key: string, cost: number): Operation;
  /** Forgets a key, and what it would take over. */
  delete(key: string): void | Promise<void>;
  /** The key as it is stored. */
  storedKey(key: string): string;
}

/** Binds a limiter's prefix and algorithm to its store. */
export function boundStore(
  store: Store,
  prefix: string,
  algorithm: Algorithm,
  replaces: { readonly algorithm: Algorithm; readonly mode: ReplaceMode } | undefined,
): BoundStore {
  const nameOf = (id: string, key: string) =>
    store.internals?.keyOf?.(prefix, id, key) ?? storedKey(prefix, id, key);

  function replacedBy(key: string): Replaced | undefined {
    return replaces && {
      key: nameOf(replaces.algorithm.id, key),
      algorithm: replaces.algorithm,
      mode: replaces.mode,
    };
  }

  function operation(key: string, cost: number): Operation {
    const stored = nameOf(algorithm.id, key);
    return { key: stored, algorithm, cost, dry: false, replaces: replacedBy(key) };
  }

  function runOne(operation: Operation, at: number | undefined): MaybeDecision {
    return andThen(store.run([operation], at), (decisions) => decisions[0]!) as MaybeDecision;
  }

  return {
    decide: replaces === undefined && store.internals?.prepare !== undefined
      ? store.internals?.prepare(prefix, algorithm) as PreparedCall<MaybeDecision>
      : (key, cost, dry, at) => runOne({ ...operation(key, cost), dry }, at),
    run: (key, stepped, cost, at) => runOne({ ...operation(key, cost), algorithm: stepped }, at),
    operation,
    delete(key) {
      const forgotten = store.delete(nameOf(algorithm.id, key));
      const old = replacedBy(key);
      if (old === undefined) return forgotten;
      const both = store.delete(old.key);
      return isPromise(forgotten) ? Promise.all([forgotten, both]).then(() => {}) : both;
    },
    storedKey: (key) => nameOf(algorithm.id, key),
  };
}
