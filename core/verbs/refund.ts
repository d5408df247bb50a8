import { type DecisionVerb, decisionVerb } from "./decision_verb.ts";

/** Gives units back, the newest first. */
export const refund: DecisionVerb = decisionVerb({
  name: "refund",
  kind: "free",
  transition: "giveBack",
  steps: ({ take, decide }) => ({
    next: (state, now, units) => take(state, now, -units),
    answer: (state, next, now, units) => decide(state, next, now, -units),
  }),
});
