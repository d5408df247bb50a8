/*
 * The options that stores on drivers have in common, their checks and their defaults.
 */

import { LONGEST_TIMER } from "../../core/clock.ts";
import { checkFunction, integerFrom, oneOf, type OptionCheck } from "../../core/options/checks.ts";
import type { Outage } from "./circuit_breaker.ts";

/** The options of a store with a server. */
export interface DriverStoreOptions {
  /**
   * Milliseconds that one round trip may take; from 1 to 2^31 - 1. By default it follows the round
   * trips that were seen, between 200 and `timeout`. After that time, new calls fail at once. After
   * twice that time, the store gives the connection up.
   */
  readonly deadline?: number | undefined;
  /**
   * The most milliseconds that a call may take in all, including its time in the queue, all round
   * trips and all tries; from 1 to 2^31 - 1; default 250, or the deadline if that is more. The first
   * call to a server may take 1,000, because it may have to make a connection.
   */
  readonly timeout?: number | undefined;
  /**
   * The answer to a call when the server does not answer: `"throw"` (default) throws a
   * `StoreUnavailableError`, `"allow"` and `"deny"` return a decision whose `source` is `"policy"`.
   * Resets and contention throw in any case.
   */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
  /**
   * Called when a server stops answering, with the reason, when the reason changes, and when it
   * answers again, whatever the policy. In a cluster each node has outages of its own. An error that
   * it throws is printed, once. By default the store prints a line by `console.warn` at the beginning
   * and at the end of each outage.
   */
  readonly onOutage?: ((outage: Outage) => void) | undefined;
  /**
   * The most calls that may wait; in a cluster, for each node. A positive integer; default 10,000.
   */
  readonly maxPending?: number | undefined;
  /**
   * The answer to a call when `maxPending` calls wait: `"throw"` (default) throws a
   * `StoreOverloadedError`, `"deny"` returns a refusal whose `source` is `"policy"`. It never admits.
   */
  readonly onOverload?: "throw" | "deny" | undefined;
  /**
   * Roughly the most bytes in which a store that compares and sets remembers the values that the
   * server should hold; a positive integer; default 64 MiB, some 250,000 keys. A key that is not
   * remembered costs a second round trip.
   */
  readonly cacheBytes?: number | undefined;
}

/** The options, with their defaults. */
export type EngineOptions =
  & Pick<DriverStoreOptions, "onOutage">
  & {
    readonly [Option in Exclude<keyof DriverStoreOptions, "onOutage">]-?: NonNullable<
      DriverStoreOptions[Option]
    >;
  }
  & { readonly connectDeadline: number; readonly longestDeadline: number };

/** The checks of the options. */
export const ENGINE_CHECKS: { readonly [Name in keyof DriverStoreOptions]-?: OptionCheck } = {
  deadline: integerFrom(1, LONGEST_TIMER),
  timeout: integerFrom(1, LONGEST_TIMER),
  onUnavailable: oneOf("throw", "allow", "deny"),
  onOutage: checkFunction,
  maxPending: integerFrom(1),
  onOverload: oneOf("throw", "deny"),
  cacheBytes: integerFrom(1),
};

/** Fills in the defaults of checked options. */
export function engineOptions(options: DriverStoreOptions): EngineOptions {
  const { deadline = 200, timeout = Math.max(250, deadline) } = options;
  return {
    deadline,
    longestDeadline: options.deadline ?? timeout,
    connectDeadline: Math.max(1_000, deadline),
    timeout,
    onUnavailable: options.onUnavailable ?? "throw",
    onOutage: options.onOutage,
    maxPending: options.maxPending ?? 10_000,
    onOverload: options.onOverload ?? "throw",
    cacheBytes: options.cacheBytes ?? 64 * 2 ** 20,
  };
}
