import { typeError } from "../options/checks.ts";
import { type DecisionVerb, decisionVerb } from "./decision_verb.ts";

/** Gives units back, the newest first. */
export const refund: DecisionVerb = decisionVerb({
  name: "refund",
  kind: "free",
  transition: "giveBack",
  require(verb, { id, internals }) {
    if (internals?.receipts === undefined) return;
    throw typeError(verb, "units of a reservable key must go back by settle or release", id);
  },
  steps: ({ take, decide }) => ({
    next: (state, now, units) => take(state, now, -units),
    answer: (state, next, now, units) => decide(state, next, now, -units),
  }),
});
