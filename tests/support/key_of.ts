import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";

/** A fresh key under an algorithm: each call steps its state. */
export function keyOf<State>(
  { step, initial }: Algorithm<State>,
): (now: number, cost?: number) => Decision {
  let state = initial;
  return (now, cost = 1) => {
    const [decision, next] = step(state, now, cost);
    state = next;
    return decision;
  };
}
