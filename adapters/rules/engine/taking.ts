/*
 * The ways to ask the counters that a request meets: by which verb it asks each of them, and how that
 * is taken back.
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

/** A wish for the units of counters. */
export interface Taking {
  /** The verb, where it is of units alone: a rule with one limit is asked by it in a single call. */
  readonly verb: DecisionVerb | undefined;
  /** Whether it may be put to permits. */
  readonly onPermits: boolean;
  /** The operation on one counter. */
  operation(counter: CounterUnits): Operation;
  /** The decision in the answer to such an operation; without it the answer is one. */
  readonly decisionOf?: ((answer: unknown) => Decision) | undefined;
  /** Is told of counters that were asked together and have all admitted. */
  took?(counters: readonly CounterUnits[], answers: readonly unknown[]): void;
  /** Makes the same wish with receipts, for what may have to be taken back; absent where nothing is refused. */
  kept?(): KeptTaking;
}

/** A taking that keeps the receipts of what it took. */
export interface KeptTaking extends Taking {
  /** Takes back what was taken of a counter, once. */
  readonly undo: Taking;
}
