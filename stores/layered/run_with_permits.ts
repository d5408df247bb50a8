/*
 * Several calls at once, of which some are on permits that a process gives out by itself: those come
 * first, one by one, and what they have held is released if another call is refused.
 */

import { andThen, type MaybePromise, orElse } from "../../core/maybe_promise.ts";
import type { Operation } from "../../core/store.ts";
import { hold } from "../../core/verbs/hold.ts";
import { peek } from "../../core/verbs/peek.ts";
import { release } from "../../core/verbs/release.ts";

/**
 * Runs calls, all or none.
 *
 * @param isOwn Whether a call is on such a permit.
 * @param runOthers Runs the others, if there are any, at once.
 */
export function runWithPermits(
  operations: readonly Operation[],
  now: number | undefined,
  isOwn: (operation: Operation) => boolean,
  runOthers: (others: readonly Operation[]) => MaybePromise<readonly unknown[]>,
): MaybePromise<readonly unknown[]> {
  if (!operations.some(isOwn)) return runOthers(operations);
  const answers = new Map<Operation, unknown>();
  const isRefused = (operation: Operation) =>
    answers.has(operation) &&
    !operation.bound.verb.decisionOf(answers.get(operation)).allowed;
  const inOrder = () => operations.map((operation) => answers.get(operation));

  /** Releases what was held; all calls but those that were refused are answered by a look. */
  function undo(): MaybePromise<readonly unknown[]> {
    const rest = operations.filter((operation) => !isRefused(operation));
    return eachInTurn(rest, ({ bound: { family, verb }, key, argument }, operation) => {
      const isHeld = answers.has(operation) && (verb as unknown) === hold;
      const released = isHeld ? family.bind(release).call(key, argument as never, now) : undefined;
      return andThen<unknown, void>(
        released,
        () =>
          andThen(family.bind(peek).call(key, 0, now), (decision) => {
            answers.set(operation, verb.answerOf(decision));
          }),
      );
    }, inOrder);
  }

  function finish(): MaybePromise<readonly unknown[]> {
    if (operations.some(isRefused)) return undo();
    const others = operations.filter((operation) => !isOwn(operation));
    if (others.length === 0) return inOrder();
    const run = () =>
      andThen(runOthers(others), (theirs) => {
        others.forEach((operation, index) => answers.set(operation, theirs[index]));
        return operations.some(isRefused) ? undo() : inOrder();
      });
    return orElse(run, (error) =>
      andThen(undo(), () => {
        throw error;
      }));
  }

  return eachInTurn(
    operations.filter(isOwn),
    ({ bound, key, argument }, operation) =>
      operations.some(isRefused)
        ? undefined
        : andThen(bound.call(key, argument, now), (answer) => void answers.set(operation, answer)),
    finish,
  );
}

/** Does something for each call, one after the other, then something else. */
function eachInTurn<Value>(
  operations: readonly Operation[],
  work: (operation: Operation, same: Operation) => MaybePromise<void>,
  then: () => MaybePromise<Value>,
): MaybePromise<Value> {
  const [first, ...rest] = operations;
  if (first === undefined) return then();
  return andThen(work(first, first), () => eachInTurn(rest, work, then));
}
