import { charge } from "../../../core/verbs/charge.ts";
import { consume } from "../../../core/verbs/consume.ts";
import type { DecisionVerb } from "../../../core/verbs/decision_verb.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { refund } from "../../../core/verbs/refund.ts";
import { backableUnits, keptTaking } from "./kept_taking.ts";
import type { Taking } from "./taking.ts";

function byVerb(verb: DecisionVerb, onPermits: boolean): Taking {
  return {
    verb,
    onPermits,
    operation: ({ family, key, units }) => ({ bound: family.bind(verb), key, argument: units }),
  };
}

/** The verb that the units of a request are for. */
export type RuleAction = "consume" | "charge" | "peek" | "refund";

/** Takings by one verb. */
export const TAKINGS: Readonly<Record<RuleAction, Taking>> = {
  consume: { ...byVerb(consume, false), kept: consumeKept },
  charge: byVerb(charge, false),
  peek: byVerb(peek, true),
  refund: byVerb(refund, false),
};

/** Consumes units that may have to be given back. */
export function consumeKept(): ReturnType<typeof keptTaking> {
  return keptTaking(0, false, backableUnits);
}
