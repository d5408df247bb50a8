import type { Algorithm } from "../../../core/algorithm.ts";
import type { Store } from "../../../core/store.ts";
import { storedKeyIn } from "../../../core/limiter/prepare_call.ts";

/** Where the counters of rules are, and what time it is there. */
export interface RuleStore {
  readonly store: Store;
  /** What all stored keys begin with; the domain follows it. */
  readonly prefix: string;
  /** The time here, for what is remembered of earlier limits. */
  readonly instant: () => number;
  /** The time for the store; `undefined` for the store's own. */
  readonly now: () => number | undefined;
}

/** The stored key of a counter. */
export function counterKey(
  { store, prefix }: RuleStore,
  domain: string,
  { id }: Algorithm,
  key: string,
): string {
  return storedKeyIn(store, `${prefix}/${domain}`, id, key);
}
