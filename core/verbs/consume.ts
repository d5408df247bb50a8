import { type DecisionVerb, decisionVerb } from "./decision_verb.ts";

/** Takes units if they are free: the algorithm's step. */
export const consume: DecisionVerb = decisionVerb({
  name: "consume",
  kind: "take",
  transition: "take",
  steps: ({ take, decide }) => ({ next: take, answer: decide }),
});
