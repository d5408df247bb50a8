/*
 * The ways to ask the counters of a request: the verb for each counter, and how to undo it.
 */

import type { Decision } from "../../../core/decision.ts";
import type { Family, Operation } from "../../../core/store.ts";
import type { DecisionVerb } from "../../../core/verbs/decision_verb.ts";

/** The units of one counter. */
export interface CounterUnits {
  readonly family: Family;
  readonly key: string;
  readonly units: number;
}

/** How to ask counters for units. */
export interface Taking {
  /**
   * The verb, if its argument is a number of units: a rule with one limit is then asked in one
   * call.
   */
  readonly verb: DecisionVerb | undefined;
  /** Whether it can also take permits. */
  readonly onPermits: boolean;
  /** The operation on one counter. */
  operation(counter: CounterUnits): Operation;
  /** Finds the decision in an answer; absent if the answer is the decision. */
  readonly decisionOf?: ((answer: unknown) => Decision) | undefined;
  /** Called with counters that were asked together and have all admitted. */
  took?(counters: readonly CounterUnits[], answers: readonly unknown[]): void;
  /**
   * Makes the taking that also keeps receipts, for units that may have to be given back; absent if
   * the taking never refuses.
   */
  kept?(): KeptTaking;
}

/** A taking that keeps the receipts of what it took. */
export interface KeptTaking extends Taking {
  /** Gives back what was taken from a counter, once. */
  readonly undo: Taking;
}
