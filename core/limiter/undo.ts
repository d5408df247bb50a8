import type { Decision } from "../decision.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { Verb } from "../store.ts";
import type { Mark } from "../receipts/receipt.ts";
import { giveBackReceipt } from "../verbs/settle.ts";

/** The part of a limiter that giving back needs. */
export interface UndoLimiter {
  call<Argument, Answer>(
    verb: Verb<Argument, Answer>,
    key: string,
    argument: Argument,
  ): MaybePromise<Answer>;
}

/** Gives back what is known to belong to a call and still counts; to be called once. */
export type Undo = () => MaybePromise<unknown>;

/**
 * Makes the function that gives back the units of a call in this process; to be called once.
 *
 * @returns `undefined` if there are no units to give back.
 */
export function undoOf(
  limiter: UndoLimiter,
  key: string,
  units: number,
  { source }: Pick<Decision, "source">,
  mark: Mark | undefined,
): Undo | undefined {
  if (mark === undefined || units === 0) return undefined;
  const receipt = { ...mark, units, source };
  return () => limiter.call(giveBackReceipt, key, { receipt, used: 0 });
}
