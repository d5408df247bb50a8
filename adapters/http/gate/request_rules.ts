/*
 * Rules, as the gate sees them: `requestRules` of the room of rules makes them. The gate knows nothing of
 * files and sources, so that who uses no rules bundles none.
 */

import type { Policy } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Awaitable } from "../limits/limit_options.ts";

/** The facts about an HTTP request that rules must know. */
export interface RuleCall {
  /** The method, in capitals. */
  readonly method: string;
  /** The target as the client sent it, with or without its query. */
  readonly path: string;
  /** The client's address; `undefined` if it is not known. */
  readonly address: string | undefined;
  /** How many bits of an IPv6 address count where the rules do not say so. */
  readonly ipv6Prefix?: number | undefined;
  /** A header's value, by its name in lower case; `undefined` or `null` if it is absent. */
  header(name: string): string | null | undefined;
}

/** The decision of rules about a request. */
export interface RulesDecision {
  /** The decision of all limits together. */
  readonly decision: Decision;
  /** The key of the counter that refuses, or else of the first. */
  readonly key: string;
  /** The same text for the same policies. */
  readonly id: string;
  /** The policies that answers show, and the decision of each; none of a failure policy's. */
  readonly policies: readonly Policy[];
  /** The decision of each policy, in the same order. */
  readonly lefts: readonly Decision[];
  /** The names of the policies that refuse. */
  readonly violated: readonly string[];
  /**
   * Finds the function that gives the units back as far as they still count, to be called once; it does
   * nothing if the request was decided without `refunds`.
   */
  refund(): () => unknown;
}

/** Rules that limit requests: what `requestRules` of `tidegate/rules` makes. */
export interface RequestRules {
  /**
   * Decides about a request, and takes its units. `undefined` if no rule limits it; `"unreadable"` if
   * its path was made to be read in many ways.
   *
   * @param more Descriptors beside those of the routes, as maps of key to value.
   * @param refunds Whether its units may be given back; default `true`. Without that a decision takes less
   * time.
   */
  decide(
    call: RuleCall,
    more: readonly Readonly<Record<string, string>>[],
    refunds?: boolean,
  ): Awaitable<RulesDecision | "unreadable" | undefined>;
}
