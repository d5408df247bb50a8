import { type DecisionVerb, decisionVerb } from "./decision_verb.ts";

/** Answers what `consume` would answer, and changes nothing. */
export const peek: DecisionVerb = decisionVerb({
  name: "peek",
  kind: "look",
  transition: undefined,
  steps: ({ take, decide }) => ({
    next: (state) => state,
    answer: (state, _next, now, cost) => decide(state, take(state, now, cost), now, cost),
  }),
});
