/*
 * Gives back what a call of this process took. A rate must know how much was given back meanwhile.
 * So the process counts the units that it gives back, by a hash of the key: keys that share a count
 * give back a little less than they could, never more. Other processes are not counted.
 */

import { newPermitId } from "../limiter/permit_ids.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { Inverse, Verb } from "../store.ts";
import { type GiveBackArgument, giveBackCall } from "../verbs/give_back.ts";
import { tryAgain } from "./try_again.ts";

/** Runs verbs on keys. The calls of a limiter that give units back wake its waiting callers. */
export interface Caller {
  /** Runs a verb on a key. */
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
 * Makes the function that takes a call of this process back.
 *
 * @param key The key of the call, which has just been made.
 * @param inverse The inverse that the call's verb names; `undefined` if there is nothing to take back.
 */
export function undoOf(
  caller: Caller,
  key: string,
  inverse: Inverse | undefined,
): Undo | undefined {
  if (inverse === undefined) return undefined;
  const { verb, argument } = inverse;
  const { decisionOf } = verb;
  if ((verb as unknown) !== giveBackCall) {
    const call = () => caller.call(verb, key, argument);
    return () => tryAgain({ call, decisionOf, isRepeatable: true });
  }
  const call = argument as GiveBackArgument;
  const { units } = call;
  const place = placeOf(key);
  const before = counts!.units[place]!;
  let own = 0;
  function giveBack(): MaybePromise<unknown> {
    const since = counts!.units[place]! - before - own;
    counts!.units[place]! += units - own;
    own = units;
    return caller.call(giveBackCall, key, { ...call, since });
  }
  return () => tryAgain({ call: giveBack, decisionOf, isRepeatable: false });
}
