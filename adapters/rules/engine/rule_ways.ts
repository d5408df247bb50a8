/*
 * The ways to ask the limits of a request: to consume, charge or give back units, to look, and to hold
 * what is given back later.
 */

import { newPermitId } from "../../../core/limiter/permit_ids.ts";
import { askBackably, askBy, type AskFor } from "../../../core/together/ask.ts";
import { charge } from "../../../core/verbs/charge.ts";
import { consume } from "../../../core/verbs/consume.ts";
import type { DecisionVerb } from "../../../core/verbs/decision_verb.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { refund } from "../../../core/verbs/refund.ts";
import { reserve, takeBackable } from "../../../core/verbs/take_backable.ts";

/** How the limits of a request are asked. */
export interface RuleWay {
  /** The verb in one call of the store; `undefined` if what it takes is given back later. */
  readonly verb: DecisionVerb | undefined;
  /** Makes the asks of one call of the store that takes by this verb. */
  readonly plainly: AskFor;
  /** Makes the asks of several calls, of which what they take may have to be given back. */
  readonly askFor: () => AskFor;
  /** Whether it may refuse. */
  readonly refuses: boolean;
  /** Whether it can also take permits. */
  readonly onPermits: boolean;
  /** Whether the units are settled later, from anywhere. */
  readonly reserves: boolean;
}

/** The use of a request's units. */
export type RuleAction = "consume" | "charge" | "peek" | "refund";

/** Ways by one verb. */
export const RULE_WAYS: Readonly<Record<RuleAction, RuleWay>> = {
  consume: { ...byVerb(consume), askFor: () => askBackably(newPermitId()), refuses: true },
  charge: byVerb(charge),
  peek: { ...byVerb(peek), onPermits: true },
  refund: byVerb(refund),
};

/** Consumes units that may be given back later. */
export const CONSUME_BACKABLY: RuleWay = { ...RULE_WAYS.consume, verb: undefined };

/**
 * Holds permits, and takes units.
 *
 * @param id The id of the permits.
 * @param reserves Whether the units are settled later, from anywhere.
 */
export function holding(id: number, reserves: boolean): RuleWay {
  const ask = askBackably(id, reserves ? reserve : takeBackable);
  const askFor = () => ask;
  return { verb: undefined, plainly: ask, askFor, refuses: true, onPermits: true, reserves };
}

function byVerb(verb: DecisionVerb): RuleWay {
  const ask = askBy(verb);
  const askFor = () => ask;
  return { verb, plainly: ask, askFor, refuses: false, onPermits: false, reserves: false };
}
