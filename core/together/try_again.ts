/*
 * Calls that give back what another call took. A store that is out for a moment must not keep it: the
 * call is made again in growing pauses, for about a minute. Nobody waits for that. The timers do not
 * keep a process alive. If too many calls wait already, a call is not made again: its units stay
 * charged, and its permits last until their time is over.
 */

import type { Decision } from "../decision.ts";
import { isStoreError, type StoreUnavailableError } from "../errors.ts";
import { inBackground } from "../in_background.ts";
import { isPromise, type MaybePromise, orElse } from "../maybe_promise.ts";

/** The pause before the first further try, in milliseconds; each later one is twice as long. */
const FIRST_PAUSE = 500;
/** How many further tries a call has. */
const TRIES = 7;
/** The most calls of a process that wait for a further try. */
const MOST_WAITING = 1_000;

let waiting = 0;

/** A call that gives back. */
export interface GivingBack<Answer> {
  call(): MaybePromise<Answer>;
  /** The decision in its answer. */
  decisionOf(answer: Answer): Pick<Decision, "source">;
  /** Whether it may be made again although it may have been applied. */
  readonly isRepeatable: boolean;
}

/** Makes the call, and makes it again later if the store could not answer. */
export function tryAgain<Answer>(giving: GivingBack<Answer>): MaybePromise<Answer> {
  return attempt(giving, 0);
}

function attempt<Answer>(giving: GivingBack<Answer>, tries: number): MaybePromise<Answer> {
  function seen(answer: Answer): Answer {
    const isLost = giving.isRepeatable && giving.decisionOf(answer).source === "policy";
    if (isLost) attemptLater(giving, tries);
    return answer;
  }
  function failed(error: unknown): never {
    const mayRepeat = isStoreError(error) &&
      (giving.isRepeatable || (error as StoreUnavailableError).applied !== "unknown");
    if (mayRepeat) attemptLater(giving, tries);
    throw error;
  }
  try {
    const answer = giving.call();
    return isPromise(answer) ? answer.then(seen, failed) : seen(answer);
  } catch (error) {
    return failed(error);
  }
}

function attemptLater<Answer>(giving: GivingBack<Answer>, tries: number): void {
  if (tries === TRIES || waiting === MOST_WAITING) return;
  waiting++;
  inBackground(FIRST_PAUSE * 2 ** tries, () => {
    waiting--;
    // A failed try has started the timer of the next one, unless it was the last.
    void orElse<unknown>(() => attempt(giving, tries + 1), () => undefined);
  });
}
