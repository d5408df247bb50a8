/*
 * Several calls at once, some of them on permits that a process gives out on its own. These come
 * first, one by one, and the permits that they hold are released if another call is refused or fails.
 */

import { andThen, type MaybePromise } from "../../core/maybe_promise.ts";
import type { Operation } from "../../core/store.ts";
import type { Ask } from "../../core/together/ask.ts";
import { type Step, takeInTurn } from "../../core/together/take_in_turn.ts";

/** The parts of leased permits that several calls at once need. */
export interface OwnPermits {
  /** Whether a call is on a permit that the process gives out. */
  isOwn(operation: Operation): boolean;
  /** Whether the permit of such a call is held. */
  isHeld(operation: Operation): boolean;
}

/**
 * Runs calls, all or none.
 *
 * @param runOthers Runs all other calls at once, if there are any.
 */
export function runWithPermits(
  operations: readonly Operation[],
  now: number | undefined,
  { isOwn, isHeld }: OwnPermits,
  runOthers: (others: readonly Operation[]) => MaybePromise<readonly unknown[]>,
): MaybePromise<readonly unknown[]> {
  if (!operations.some(isOwn)) return runOthers(operations);
  const asks = operations.map((operation): Ask => {
    const { family } = operation.bound;
    const call: Ask["counter"]["call"] = (verb, key, argument) =>
      family.bind(verb).call(key, argument, now);
    // A permit that was held before must not be released.
    const isTaken = isOwn(operation) && !isHeld(operation);
    return { ...operation, counter: { call: isTaken ? call : keep } };
  });
  const others = asks.filter((ask) => !isOwn(ask));
  const steps = asks.filter(isOwn).map((ask): Step => ({
    asks: [ask],
    run: () => andThen(ask.bound.call(ask.key, ask.argument, now) as MaybePromise<unknown>, asList),
  }));
  if (others.length > 0) steps.push({ asks: others, run: () => runOthers(others) });
  return andThen(takeInTurn(steps, now), (answers) => asks.map((ask) => answers.get(ask)));
}

function keep(): never {
  return undefined as never;
}

function asList<Value>(value: Value): readonly Value[] {
  return [value];
}
