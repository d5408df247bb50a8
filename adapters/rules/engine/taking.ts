/*
 * The ways to ask the counters that a request meets: by which verb it asks each of them, and how that
 * is taken back.
 */

import type { Decision } from "../../../core/decision.ts";
import type { Family, Operation } from "../../../core/store.ts";
import { charge } from "../../../core/verbs/charge.ts";
import { consume } from "../../../core/verbs/consume.ts";
import type { DecisionVerb } from "../../../core/verbs/decision_verb.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { refund } from "../../../core/verbs/refund.ts";

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
  /** Takes back what was taken; `undefined` where nothing is refused. */
  readonly undo: Taking | undefined;
}

function byVerb(verb: DecisionVerb, onPermits: boolean, undo: Taking | undefined): Taking {
  return {
    verb,
    onPermits,
    operation: ({ family, key, units }) => ({ bound: family.bind(verb), key, argument: units }),
    undo,
  };
}

const refunding = byVerb(refund, false, undefined);

/** The verb that the units of a request are for. */
export type ChargeAction = "consume" | "charge" | "peek" | "refund";

/** Takings by one verb. */
export const TAKINGS: Readonly<Record<ChargeAction, Taking>> = {
  consume: byVerb(consume, false, refunding),
  charge: byVerb(charge, false, undefined),
  peek: byVerb(peek, true, undefined),
  refund: refunding,
};
