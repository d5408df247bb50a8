import type { Decision } from "../decision.ts";
import { andThen, type MaybePromise } from "../maybe_promise.ts";
import { type Undo, undoOf } from "../together/undo.ts";
import { takeBackable } from "../verbs/take_backable.ts";
import { givingBack } from "../verbs/settle.ts";
import type { LimiterInternals } from "./limiter_internals.ts";
import { newPermitId } from "./permit_ids.ts";

/** An admitted call, and the function that gives its units back. */
export interface Acquired {
  readonly decision: Decision;
  /** Gives the units back; `undefined` if there are none. */
  readonly undo: Undo | undefined;
}

/**
 * `consume` for a caller that may give the units back. It checks nothing, and reports as `consume`
 * does.
 */
export function takeOrUndo(
  limiter: LimiterInternals,
  key: string,
  cost: number,
): MaybePromise<Acquired> {
  const taken = limiter.call(takeBackable, key, { cost, id: newPermitId() });
  return andThen(taken, ({ decision, mark }) => {
    limiter.report(decision, key, cost);
    return { decision, undo: undoOf(limiter, key, givingBack(cost, decision, mark)) };
  });
}
