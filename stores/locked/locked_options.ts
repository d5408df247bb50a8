/*
 * The options of stores that lock their database. They have the same names as those of the Redis store.
 */

import { integerFrom, oneOf, type OptionCheck } from "../../core/options/checks.ts";

/** The options of `lockedStore`. */
export interface LockedStoreOptions {
  /**
   * The answer to a call that the database cannot decide. `"throw"` (default) throws a
   * `StoreUnavailableError`. `"allow"` and `"deny"` return a decision whose `source` is `"policy"`.
   * A reset throws in any case.
   */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
  /**
   * The calls that share a transaction. `"call"` (default): each call has its own, and is answered at
   * once. `"turn"`: all calls of a turn of the event loop share one, and are answered by promises. Many
   * such calls cost little more than one.
   */
  readonly batch?: "call" | "turn" | undefined;
  /** The most calls of a turn: a positive integer; default 10,000. */
  readonly maxPending?: number | undefined;
  /**
   * The answer to a call beyond the `maxPending` of a turn. `"throw"` (default) throws a
   * `StoreOverloadedError`. `"deny"` returns a refusal whose `source` is `"policy"`.
   */
  readonly onOverload?: "throw" | "deny" | undefined;
}

/** The checks of these options, for stores that have more options. */
export const LOCKED_OPTIONS: { readonly [Name in keyof LockedStoreOptions]-?: OptionCheck } = {
  onUnavailable: oneOf("throw", "allow", "deny"),
  batch: oneOf("call", "turn"),
  maxPending: integerFrom(1),
  onOverload: oneOf("throw", "deny"),
};
