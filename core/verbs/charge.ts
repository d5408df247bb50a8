import { type DecisionVerb, decisionVerb } from "./decision_verb.ts";
import { refund } from "./refund.ts";

/** Takes units beyond the limit if need be, and answers with the balance after it. */
export const charge: DecisionVerb = decisionVerb({
  name: "charge",
  kind: "charge",
  transition: "charge",
  steps: ({ charge, decide }) => ({
    next: charge,
    answer: (_state, next, now) => decide(next, next, now, 0),
  }),
  undo: (units, answer) => answer && units > 0 ? { verb: refund, argument: units } : undefined,
});
