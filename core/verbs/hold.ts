import type { Algorithm } from "../algorithm.ts";
import { leavesOf } from "../algorithms/leaves_of.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import { rangeError } from "../options/checks.ts";
import { lookOf, type PermitVerb, permitVerb } from "./permit_steps.ts";
import { release } from "./release.ts";

/** Holds a permit, or renews it if it is held already. */
export const hold: PermitVerb = permitVerb("hold", "take", (steps, algorithm) => {
  leavesOf(algorithm).forEach(requireSingle);
  const { decide } = splitReducer(algorithm);
  const look = lookOf(algorithm);
  return {
    next: steps.hold,
    answer: (state, next, now, argument) =>
      steps.holds(next, now, argument) ? look(next, now) : decide(state, state, now, argument.cost),
  };
}, (argument) => ({ verb: release, argument }));

/** Requires an algorithm whose states have room for each permit. */
function requireSingle({ capacity, internals }: Algorithm): void {
  if (internals?.permits?.single !== false) return;
  const rule = "the store of a limit above 1,000 must be wrapped in lease(store, { units, ttl })";
  throw rangeError("hold a permit", rule, capacity);
}
