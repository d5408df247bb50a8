import { splitReducer } from "../algorithms/split_reducer.ts";
import { lookOf, type PermitVerb, permitVerb } from "./permit_steps.ts";

/** Holds a permit, or renews it if its id holds it already. */
export const hold: PermitVerb = permitVerb("hold", "take", (steps, algorithm) => {
  const { decide } = splitReducer(algorithm);
  const look = lookOf(algorithm);
  return {
    next: steps.hold,
    answer: (state, next, now, argument) =>
      steps.holds(next, now, argument) ? look(next, now) : decide(state, state, now, argument.cost),
  };
});
