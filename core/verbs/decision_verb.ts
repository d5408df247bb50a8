/*
 * Makes verbs whose answer is the decision itself, and whose argument is a number of units:
 * `consume`, `peek`, `refund` and `charge` differ only in their pair of functions.
 */

import type { Algorithm, SplitReducer } from "../algorithm.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import type { Steps, Verb } from "../store.ts";

/** A verb of units that answers with a decision. */
export type DecisionVerb = Verb<number, Decision>;

/** The parts in which these verbs differ. */
interface Parts extends Pick<DecisionVerb, "name" | "kind" | "undo"> {
  /** Throws if the algorithm has no such verb. */
  readonly require?: (verb: string, algorithm: Algorithm) => void;
  readonly transition: ReturnType<DecisionVerb["transition"]>;
  steps(split: SplitReducer<unknown>): Steps<number, Decision>;
}

/** Makes a verb of units that answers with a decision. */
export function decisionVerb(
  { name, kind, require, transition, steps, undo }: Parts,
): DecisionVerb {
  return Object.freeze({
    ...(undo && { undo }),
    name,
    kind,
    units: itself,
    on(algorithm: Algorithm) {
      if (kind !== "look") requireNoPermits(name, algorithm);
      require?.(name, algorithm);
      return steps(splitReducer(algorithm));
    },
    decisionOf: itself,
    answerOf: itself,
    transition: () => transition,
  });
}

/** Returns its argument. All verbs share this function, so that engines inline it. */
function itself<Value>(value: Value): Value {
  return value;
}
