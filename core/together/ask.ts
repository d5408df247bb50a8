/*
 * Asks of the keys of limiters, and of the limits of rules: for units, or for permits.
 */

import { holdsPermits } from "../algorithms/holds_permits.ts";
import type { Decision } from "../decision.ts";
import type { Family, Operation, Verb } from "../store.ts";
import { hold } from "../verbs/hold.ts";
import { peek } from "../verbs/peek.ts";
import { takeBackable } from "../verbs/take_backable.ts";
import type { Caller } from "./undo.ts";

/** The keys of a limiter, or of a limit of a rule. */
export interface Counter extends Caller {
  /** Its keys in the store. */
  readonly family: Family;
}

/** A call on one key, and what gives back the units that it takes. */
export interface Ask<Of extends Caller = Caller> extends Operation {
  readonly counter: Of;
}

/** Makes the ask for units of a counter's key. */
export type AskFor = <Of extends Counter>(counter: Of, key: string, units: number) => Ask<Of>;

/** Asks by one verb, whose argument is a number of units. */
export function askBy(verb: Verb<number, Decision>): AskFor {
  return (counter, key, units) => ({
    bound: counter.family.bind(verb),
    key,
    argument: units,
    counter,
  });
}

/** Looks at a key. */
export const askToLook: AskFor = askBy(peek);

/**
 * Asks for units and permits that may be given back.
 *
 * @param id Finds the permits again: a random number of 53 bits, at least 1.
 * @param verb How units are taken.
 */
export function askBackably(id: number, verb: typeof takeBackable = takeBackable): AskFor {
  return function askFor(counter, key, units) {
    // Without units there is no permit to hold.
    if (units === 0) return askToLook(counter, key, 0);
    const { family } = counter;
    const argument = { id, cost: units };
    const bound = holdsPermits(family.spec.algorithm) ? family.bind(hold) : family.bind(verb);
    return { bound, key, argument, counter };
  };
}

/** The decision in the answer to an ask. */
export function decisionIn({ bound: { verb } }: Operation, answer: unknown): Decision {
  return verb.decisionOf(answer);
}

/** The decisions in the answers to asks, in order. */
export function decisionsIn(
  asks: readonly Operation[],
  answers: readonly unknown[],
): readonly Decision[] {
  return asks.map((ask, index) => decisionIn(ask, answers[index]));
}
