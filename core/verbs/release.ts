import { lookOf, type PermitVerb, permitVerb } from "./permit_steps.ts";

/** Releases a permit; nothing happens if it is gone. */
export const release: PermitVerb = permitVerb("release", "free", (steps, algorithm) => {
  const look = lookOf(algorithm);
  return {
    next: steps.release,
    answer: (state, next, now) => ({ ...look(next, now), allowed: next !== state }),
  };
});
