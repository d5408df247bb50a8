/*
 * Families for stores that have no faster way for a single call than a batch of one.
 */

import { bindOnce } from "./bind_once.ts";
import { andThen, type MaybePromise } from "./maybe_promise.ts";
import type {
  Answered,
  BoundVerb,
  Family,
  FamilySpec,
  StoreBase,
  StoreMode,
  Verb,
} from "./store.ts";
import { storedKey } from "./stored_key.ts";

/** The functions that a store must have for `plainFamily`. */
export interface PlainStore<Mode extends StoreMode> {
  /** The store's `run`. */
  readonly run: StoreBase<Mode>["run"];
  /** Forgets stored keys, by their names. */
  forget(names: readonly string[]): Answered<Mode, void>;
}

/**
 * A family whose single calls are batches of one, and whose keys are named by `storedKey`. A custom
 * store needs nothing else for its `open`.
 *
 * @param store The store's functions that run operations and forget keys.
 * @param spec The spec that the family was opened with.
 *
 * @example A store in a map
 * ```ts
 * import { gcra, limiter, type SyncStore } from "tidegate";
 * import { plainFamily, transact } from "tidegate/toolkit";
 * import assert from "node:assert/strict";
 *
 * const states = new Map<string, unknown>();
 * const nameOf = ({ bound: { family }, key }: Parameters<SyncStore["run"]>[0][number]) =>
 *   family.nameOf(key);
 * const run: SyncStore["run"] = (operations, now = Date.now()) => {
 *   const held = operations.map((operation) =>
 *     states.get(nameOf(operation)) ?? operation.bound.family.spec.algorithm.initial
 *   );
 *   const { answers, nexts } = transact(operations, held, now);
 *   operations.forEach((operation, index) => states.set(nameOf(operation), nexts[index]));
 *   return answers;
 * };
 * const forget = (names: readonly string[]) => names.forEach((name) => states.delete(name));
 * const store: SyncStore = {
 *   open: (spec) => plainFamily({ run, forget }, spec),
 *   run,
 *   close: () => states.clear(),
 *   [Symbol.asyncDispose]: () => Promise.resolve(states.clear()),
 * };
 *
 * const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }), { store, prefix: "api" });
 * assert.deepEqual([api.consume("a").allowed, api.consume("a").allowed], [true, false]);
 * ```
 */
export function plainFamily<Mode extends StoreMode>(
  store: PlainStore<Mode>,
  spec: FamilySpec,
): Family<Mode> {
  const { prefix, algorithm } = spec;
  const family: Family<Mode> = {
    spec,
    bind: bindOnce<Mode>(<Argument, Answer>(verb: Verb<Argument, Answer>) => {
      const bound = {
        family,
        verb,
        steps: verb.on(algorithm),
        call(key: string, argument: Argument, now: number | undefined) {
          const answers: MaybePromise<readonly unknown[]> = store.run(
            [{ bound, key, argument }],
            now,
          );
          return andThen(answers, ([answer]) => answer as Answer) as Answered<Mode, Answer>;
        },
      };
      return bound as BoundVerb<Argument, Answer, Mode>;
    }),
    delete: (key) => store.forget(namesOf(spec, key)),
    nameOf: (key) => storedKey(prefix, algorithm.id, key),
  };
  return family;
}

/** The names under which a key may be stored: with the current options, then with older options. */
export function namesOf({ prefix, algorithm, older }: FamilySpec, key: string): readonly string[] {
  return [algorithm, ...older.map(({ algorithm }) => algorithm)]
    .map(({ id }) => storedKey(prefix, id, key));
}
