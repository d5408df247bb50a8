/*
 * Gives back what a call of this process took. A rate without receipts must know how much was given
 * back meanwhile. So the process counts the units that it gives back, by a hash of the key: keys that
 * share a count give back a little less than they could, never more. Other processes are not counted;
 * where several give back units of one key, `reservable` is exact.
 */

import type { Decision } from "../decision.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { Mark } from "../receipts/receipt.ts";
import type { Verb } from "../store.ts";
import { giveBackReceipt, type SettleArgument } from "../verbs/settle.ts";
import { newPermitId } from "./permit_ids.ts";

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

/** How many counts there are. */
const COUNTS = 1_024;
/** How many letters of a key are hashed. */
const LETTERS = 64;

let counts: { readonly seed: number; readonly units: Float64Array } | undefined;

/** The place of a key's count. */
function placeOf(key: string): number {
  counts ??= { seed: newPermitId() % 2 ** 31, units: new Float64Array(COUNTS) };
  let hash = counts.seed;
  const length = Math.min(key.length, LETTERS);
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 16_777_619);
  return (hash ^ (hash >>> 16)) & (COUNTS - 1);
}

/**
 * Makes the function that makes the argument by which units of a call are given back.
 *
 * @param key The key of the call, which has just been made.
 */
export function undoArgument(
  key: string,
  units: number,
  { source }: Pick<Decision, "source">,
  mark: Mark,
): () => SettleArgument {
  const receipt = { ...mark, units, source };
  if (mark.id !== 0) return () => ({ receipt, used: 0 });
  const place = placeOf(key);
  const before = counts!.units[place]!;
  return () => {
    const since = counts!.units[place]! - before;
    counts!.units[place]! += units;
    return { receipt, used: 0, since };
  };
}

/**
 * Makes the function that gives back the units of a call in this process; to be called once.
 *
 * @returns `undefined` if there are no units to give back.
 */
export function undoOf(
  limiter: UndoLimiter,
  key: string,
  units: number,
  decision: Pick<Decision, "source">,
  mark: Mark | undefined,
): Undo | undefined {
  if (mark === undefined || units === 0) return undefined;
  const argument = undoArgument(key, units, decision, mark);
  return () => limiter.call(giveBackReceipt, key, argument());
}
