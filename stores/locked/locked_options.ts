/*
 * The options of stores that lock their database, in the words of the Redis store.
 */

import { checkChoice, integerFrom, type OptionCheck } from "../../core/options/checks.ts";

/** The options of `lockedStore`. */
export interface LockedStoreOptions {
  /**
   * The answer to a call that the database does not decide: `"throw"` (default) throws a
   * `StoreUnavailableError`, `"allow"` and `"deny"` return a decision whose `source` is `"policy"`.
   * Resets throw in any case.
   */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
  /**
   * Which calls share a transaction. `"call"` (default): none; each is answered at once. `"turn"`: all
   * of a turn of the event loop; they are answered by promises, and many cost little more than one.
   */
  readonly batch?: "call" | "turn" | undefined;
  /** The most calls of a turn; a positive integer; default 10,000. */
  readonly maxPending?: number | undefined;
  /**
   * The answer to a call when a turn has `maxPending`: `"throw"` (default) throws a
   * `StoreOverloadedError`, `"deny"` returns a refusal whose `source` is `"policy"`.
   */
  readonly onOverload?: "throw" | "deny" | undefined;
}

/** The checks of these options, for stores that have them beside others. */
export const LOCKED_OPTIONS: { readonly [Name in keyof LockedStoreOptions]-?: OptionCheck } = {
  onUnavailable: oneOf("throw", "allow", "deny"),
  batch: oneOf("call", "turn"),
  maxPending: integerFrom(1),
  onOverload: oneOf("throw", "deny"),
};

function oneOf(...choices: readonly string[]): OptionCheck {
  return (action, option, value) => checkChoice(action, option, value, choices);
}
