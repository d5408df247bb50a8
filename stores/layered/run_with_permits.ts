/*
 * Several calls at once, some of them on permits that a process gives out on its own. These come
 * first, one by one, and the permits that they hold are released if another call is refused.
 */

import { andThen, type MaybePromise, orElse } from "../../core/maybe_promise.ts";
import type { Operation } from "../../core/store.ts";
import { hold } from "../../core/verbs/hold.ts";
import { peek } from "../../core/verbs/peek.ts";
import { release } from "../../core/verbs/release.ts";

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
  const own = operations.filter(isOwn);
  if (own.length === 0) return runOthers(operations);
  const others = operations.filter((operation) => !isOwn(operation));
  const answers = new Map<Operation, unknown>();
  const taken: Operation[] = [];
  const isRefused = (operation: Operation) =>
    answers.has(operation) &&
    !operation.bound.verb.decisionOf(answers.get(operation)).allowed;
  const inOrder = () => operations.map((operation) => answers.get(operation));

  /** Holds permits until one is refused. A permit that was held before must not be released. */
  function holdOwn(): MaybePromise<void> {
    return eachInTurn(own, (operation) => {
      const { bound, key, argument } = operation;
      if (operations.some(isRefused)) return;
      const isNew = (bound.verb as unknown) === hold && !isHeld(operation);
      return andThen(bound.call(key, argument, now), (answer) => {
        answers.set(operation, answer);
        if (isNew && !isRefused(operation)) taken.push(operation);
      });
    });
  }

  function callOthers(): MaybePromise<void> {
    if (others.length === 0 || operations.some(isRefused)) return;
    return andThen(runOthers(others), (theirs) => {
      others.forEach((operation, index) => answers.set(operation, theirs[index]));
    });
  }

  /**
   * Releases the permits that were held. A permit whose release does not reach the store expires.
   */
  function releaseTaken(): MaybePromise<void> {
    return eachInTurn(taken, ({ bound: { family }, key, argument }) =>
      orElse<unknown>(
        () => family.bind(release).call(key, argument as never, now),
        () => undefined,
      ) as MaybePromise<void>);
  }

  /** Answers all calls by a look, except the refused ones. */
  function lookAtRest(): MaybePromise<readonly unknown[]> {
    const rest = operations.filter((operation) => !isRefused(operation));
    const looks = eachInTurn(rest, (operation) => {
      const { bound: { family, verb }, key } = operation;
      return andThen(family.bind(peek).call(key, 0, now), (decision) => {
        answers.set(operation, verb.answerOf(decision));
      });
    });
    return andThen(looks, inOrder);
  }

  const called = orElse(
    () => andThen(holdOwn(), callOthers),
    (error) =>
      andThen(releaseTaken(), () => {
        throw error;
      }),
  );
  return andThen(called, () => {
    if (!operations.some(isRefused)) return inOrder();
    return andThen(releaseTaken(), lookAtRest);
  });
}

/** Runs a function for each call, one after the other. */
function eachInTurn(
  operations: readonly Operation[],
  work: (operation: Operation) => MaybePromise<void>,
): MaybePromise<void> {
  const [first, ...rest] = operations;
  if (first === undefined) return;
  return andThen(work(first), () => eachInTurn(rest, work));
}
