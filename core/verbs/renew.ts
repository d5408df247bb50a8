import { lookOf, type PermitVerb, permitVerb } from "./permit_steps.ts";

/** Renews a permit: it is held for another time to live, unless it is gone. */
export const renew: PermitVerb = permitVerb("renew", "take", (steps, algorithm) => {
  const look = lookOf(algorithm);
  return {
    next: (state, now, argument) =>
      steps.holds(state, now, argument) ? steps.renew(state, now, argument) : state,
    answer: (state, next, now, argument) => ({
      ...look(next, now),
      allowed: steps.holds(state, now, argument) === true,
    }),
  };
});
