/*
 * Rules, as the gate sees them: `requestRules` in `adapters/rules` makes them. The gate knows
 * nothing of files and sources, so that an application without rules does not bundle them.
 */

import type { Policy } from "../../../core/algorithm.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Awaitable } from "../limits/limit_options.ts";

/** The facts about an HTTP request that rules must know. */
export interface RuleCall {
  /** The method, in capitals. */
  readonly method: string;
  /** The target as the client sent it, with or without its query: servers read it in several ways. */
  readonly path: string;
  /** Further targets by which the server may choose a route, such as that of a rewrite. */
  readonly paths?: readonly string[] | undefined;
  /** Whether the server's routes match paths in any case; default no. */
  readonly ignoresCase?: boolean | undefined;
  /** The client's address; for IPv6, only its network counts. `undefined` if it is not known. */
  readonly address: string | undefined;
  /** How many bits that network has if the rules do not say; default 64. */
  readonly ipv6Prefix?: number | undefined;
  /** A header's value, by its name in lower case; `undefined` or `null` if it is absent. */
  header(name: string): string | null | undefined;
}

/** The decision of rules about a request. */
export interface RulesDecision {
  /** The decision of all limits together. */
  readonly decision: Decision;
  /** The key of the counter that refuses, otherwise of the first counter. */
  readonly key: string;
  /** The same text for the same policies. */
  readonly id: string;
  /** The policies that answers show. Decisions of a failure policy have no policy here. */
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

/** Rules that limit requests, made by `requestRules` of `tidegate/rules`. */
export interface RequestRules {
  /** The clock of the rules, if they have one of their own. */
  readonly clock?: Clock | undefined;
  /**
   * Decides about a request, and takes its units. `undefined` if no rule limits it; `"unreadable"`
   * if its path was built so that it can be read in many ways.
   *
   * @param more Descriptors in addition to the routes' descriptors, as maps of key to value.
   * @param refunds Whether its units may be given back; default `true`. With `false` a decision
   * takes less time.
   */
  decide(
    call: RuleCall,
    more: readonly Readonly<Record<string, string>>[],
    refunds?: boolean,
  ): Awaitable<RulesDecision | "unreadable" | undefined>;
}
