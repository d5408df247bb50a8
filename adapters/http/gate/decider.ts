/*
 * Decides about requests: limits, or rules. The gate asks for the charges of a request, and takes the
 * units. The decision says how to give them back.
 */

import type { Clock } from "../../../core/clock.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Awaitable } from "../limits/limit_options.ts";
import type { HeaderWriter } from "../fields/header_writer.ts";
import type { Charge } from "./counted_twice.ts";
import type { Refusal } from "./refusal.ts";

/**
 * Text for answers about a set of policies, computed once for all requests under these policies.
 */
export interface PolicyPlan {
  /** The names of the policies. */
  readonly names: readonly string[];
  readonly write: HeaderWriter;
  /** Whether the fields depend on the time. */
  readonly timed: boolean;
  /** The answer where all policies refuse. */
  readonly refusal: Refusal;
}

/** A request and its charges. */
export interface Asked {
  readonly request: unknown;
  readonly info: unknown;
  readonly shadowed: boolean;
  /**
   * The refusal of a request that cannot be charged, because its address is unknown, or its key is
   * not text.
   */
  readonly refusal: Refusal | undefined;
  /**
   * Whether an admitted request may have to wait for its start, and gives its place back if it
   * leaves.
   */
  readonly delays: boolean;
  /** The keys that the request takes units of; unknown for rules. */
  readonly calls: readonly Charge[];
}

/** The decision about a request. */
export interface Decided {
  readonly decision: Decision;
  /**
   * The key that decided: the key of the first limit that refuses, otherwise of the first limit.
   */
  readonly key: string;
  readonly policies: PolicyPlan;
  /** The decision of each policy; `undefined` for policies for which a failure policy answered. */
  readonly lefts: readonly (Decision | undefined)[];
  /** The answer to a refused client, if it does not follow from the policies. */
  readonly refusal: Refusal | undefined;
  /** The clock of the limits that decided, which measures a delay; `undefined` if they have none. */
  readonly clock: Clock | undefined;
  /** Gives units back as far as they still count; `undefined` if there is nothing to be given back. */
  readonly giveBack: (() => unknown) | undefined;
  /**
   * Releases the permits of the request. It may be called several times. `undefined` if the request
   * holds none.
   */
  readonly release: (() => void) | undefined;
}

/**
 * Limits, or rules, as the gate uses them.
 *
 * @typeParam Call The charges of a request.
 */
export interface Decider<Call extends Asked> {
  /** The charges of a request; `undefined` if it is not limited. */
  ask(request: unknown, info: unknown, shadowed: boolean): Awaitable<Call | undefined>;
  /**
   * Decides, and takes the units. `undefined` if the request is not limited after all, a refusal if
   * nothing can be decided about it.
   */
  take(call: Call): Taking | PromiseLike<Taking>;
}

type Taking = Decided | Refusal | undefined;

/** A decider of either kind. */
// deno-lint-ignore no-explicit-any
export type AnyDecider = Decider<any>;
