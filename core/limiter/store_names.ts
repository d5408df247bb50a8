/*
 * The names of the stores that hold a limiter's units: looked up when the first receipt needs one,
 * and again when a receipt comes with another name.
 */

import { andThen, type MaybePromise, orElse } from "../maybe_promise.ts";
import type { DecisionSource } from "../decision.ts";
import { type Named, nameStore, storeName } from "../receipts/store_name.ts";
import type { Store, StoreBase } from "../store.ts";
import { newPermitId } from "./permit_ids.ts";

/** The key under which the name is stored, in a family of its own. */
const KEY = "store";

/** The names of the stores that hold a limiter's units. */
export interface StoreNames {
  /** The name of the store that admitted a call; `undefined` if that store does not answer. */
  of(source: DecisionSource | undefined): MaybePromise<string | undefined>;
  /**
   * Whether a name is still the store's name: its data may have been deleted since the name was
   * looked up.
   */
  isOf(name: string | undefined, source: DecisionSource | undefined): MaybePromise<boolean>;
  /** Forgets the names: the data was deleted. */
  forget(): void;
}

/** Makes the names of a limiter's stores; `now` is the instant to decide at, if it has a clock. */
export function storeNames(
  store: Store,
  prefix: string,
  now: () => number | undefined,
): StoreNames {
  const known = new Map<DecisionSource | undefined, string>();

  function ask(source: DecisionSource | undefined): MaybePromise<string | undefined> {
    const { bind } = (store as StoreBase).open({ prefix, algorithm: storeName, older: [] });
    const answer: MaybePromise<Named> = bind(nameStore)
      .call(KEY, { id: newPermitId(), source }, now());
    return andThen(answer, ({ decision, name }) => {
      // While the store is unreachable, another store may have answered.
      if (name === undefined || decision.source !== source) return undefined;
      known.set(source, name.toString(36));
      return known.get(source);
    });
  }

  return {
    of: (source) => known.get(source) ?? orElse(() => ask(source), () => undefined),
    isOf(name, source) {
      if (name === undefined) return false;
      return name === known.get(source) || andThen(ask(source), (own) => name === own);
    },
    forget: () => known.clear(),
  };
}
