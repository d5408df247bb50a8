import type { Algorithm } from "../algorithm.ts";
import { typeError } from "../options/checks.ts";
import { type DecisionVerb, decisionVerb } from "./decision_verb.ts";

/** Whether units go back by `refund`. Those of a reservable key go back by receipts alone. */
export function isRefundable({ internals }: Pick<Algorithm, "internals">): boolean {
  return internals?.receipts === undefined;
}

/** Gives units back, the newest first. */
export const refund: DecisionVerb = decisionVerb({
  name: "refund",
  kind: "free",
  transition: "giveBack",
  require(verb, algorithm) {
    if (isRefundable(algorithm)) return;
    const rule = "units of a reservable key must go back by settle or release";
    throw typeError(verb, rule, algorithm.id);
  },
  steps: ({ take, decide }) => ({
    next: (state, now, units) => take(state, now, -units),
    answer: (state, next, now, units) => decide(state, next, now, -units),
  }),
});
