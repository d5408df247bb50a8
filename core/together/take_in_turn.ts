/*
 * Takes in several steps, all or none: what a store cannot do at one instant. The steps follow one
 * another until one refuses or fails. What the earlier steps took then goes back, and after a refusal
 * the others are answered by a look.
 */

import { allOf, andThen, type MaybePromise, orElse } from "../maybe_promise.ts";
import { peek } from "../verbs/peek.ts";
import { type Ask, decisionIn } from "./ask.ts";
import { giveBack, type Taken, takenBy } from "./taken.ts";

/** Asks that are answered together. */
export interface Step {
  readonly asks: readonly Ask[];
  /** Answers the asks, in order. */
  run(): MaybePromise<readonly unknown[]>;
}

/** The answers to asks. */
export type AnswerMap = ReadonlyMap<Ask, unknown>;

/** Takes in steps, all or none. */
export function takeInTurn(
  steps: readonly Step[],
  now: number | undefined,
): MaybePromise<AnswerMap> {
  const answers = new Map<Ask, unknown>();
  const taken: Taken[] = [];

  /** Whether all steps from this one on have admitted. */
  function takeFrom(index: number): MaybePromise<boolean> {
    const step = steps[index];
    if (step === undefined) return true;
    return andThen(step.run(), (given) => {
      const { asks } = step;
      asks.forEach((ask, at) => answers.set(ask, given[at]));
      if (asks.some((ask, at) => !decisionIn(ask, given[at]).allowed)) return false;
      taken.push(...asks.map((ask, at) => takenBy(ask, given[at])));
      return takeFrom(index + 1);
    });
  }

  const isTaken = orElse(() => takeFrom(0), (error) =>
    andThen(giveBack(taken), () => {
      throw error;
    }));
  return andThen(isTaken, (isTaken) => {
    if (isTaken) return answers;
    const asks = steps.flatMap((step) => step.asks);
    return andThen(giveBack(taken), () => answerRest(asks, answers, now));
  });
}

/** Answers the asks that do not refuse by a look, as a store does that refuses several at once. */
export function answerRest(
  asks: readonly Ask[],
  answers: AnswerMap,
  now: number | undefined,
): MaybePromise<AnswerMap> {
  const isRefused = (ask: Ask) => answers.has(ask) && !decisionIn(ask, answers.get(ask)).allowed;
  const looks = asks.map((ask): MaybePromise<readonly [Ask, unknown]> => {
    if (isRefused(ask)) return [ask, answers.get(ask)];
    const { bound: { family, verb }, key } = ask;
    const look = family.bind(peek).call(key, 0, now);
    return andThen(look, (decision) => [ask, verb.answerOf(decision)] as const);
  });
  return andThen(allOf(looks), (all) => new Map(all));
}
