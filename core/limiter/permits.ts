/*
 * The permits of a limiter: who asks for one, waits for one, and what `hold` answers.
 *
 * Callers wait in the same queue as those of `acquire`, but none is refused by projection: a permit
 * comes back when its holder is done, which no refusal can foresee. So each caller has a timer for
 * its `maxWait`, and where the store does not tell of releases elsewhere, the head of the queue
 * polls.
 */

import type { Decision } from "../decision.ts";
import { RateLimitedError, StoreUnavailableError } from "../errors.ts";
import { andThen, isPromise, type MaybePromise, orElse } from "../maybe_promise.ts";
import {
  checkFunction,
  checkInteger,
  checkOptions,
  checkText,
  errorMessage,
} from "../options/checks.ts";
import { readLongestWait } from "../options/period.ts";
import type { Attempt } from "../verbs/attempt.ts";
import { hold as holdVerb } from "../verbs/hold.ts";
import { requirePermits } from "../verbs/permit_steps.ts";
import { ACQUIRE_OPTIONS, look } from "./acquire.ts";
import { heldOf, openPermit, permitTimes, releasePermit } from "./open_permit.ts";
import type {
  AskedPermit,
  Held,
  OpenPermits,
  PermitDesk,
  WaitingHoldOptions,
} from "./permit_desk.ts";
import { newPermitId, randomShare } from "./permit_ids.ts";
import { renewalsOf } from "./renewals.ts";
import { MIN_ANSWER_TIME, unanswered } from "./silence.ts";
import { waitInQueue } from "./wait_in_queue.ts";
import type { QueueLimiter, WaitRequest, WaitTarget } from "./waiting_queue.ts";

/** Milliseconds until a refused caller tries again: after the first refusal, and at most. */
const FIRST_POLL = 25;
const LAST_POLL = 200;

/** The state that a held permit shows the queue. Nothing can be projected from it. */
const SIGHT = Object.freeze({ refusedState: undefined, at: 0, mark: undefined });
/** Why a caller leaves the queue once its `maxWait` is over. */
const TIME_IS_UP = Symbol("maxWait");

/** Opens the permits of a limiter. */
export const openPermits: OpenPermits = (limiter) => {
  const { algorithm } = limiter;
  requirePermits("hold", algorithm);
  const times = permitTimes(algorithm, limiter.renewalLag);
  const renewals = renewalsOf(limiter.clock);

  /** The answer to a call that was sent at an instant. */
  function held(
    decision: Decision,
    id: number,
    key: string,
    cost: number,
    sentAt: number,
  ): Held {
    limiter.report(decision, key, cost);
    const permit = decision.allowed
      ? openPermit({ limiter, renewals, times, key, id, cost, sentAt, decision })
      : undefined;
    return heldOf(decision, permit);
  }

  /** Holds a permit at once, or not at all. */
  function holdNow(key: string, cost: number, signal: AbortSignal | undefined): MaybePromise<Held> {
    const id = newPermitId();
    const sentAt = limiter.passing();
    const answer = takePermit(limiter, key, id, cost);
    if (!isPromise(answer)) return held(answer, id, key, cost, sentAt);
    return answer.then((decision) => {
      if (decision.allowed && signal?.aborted) {
        return andThen(releasePermit(limiter, { key, id, cost }), () => {
          throw signal.reason;
        });
      }
      return held(decision, id, key, cost, sentAt);
    });
  }

  /** Waits for a permit. */
  async function holdLater(key: string, cost: number, options: WaitingHoldOptions): Promise<Held> {
    const { maxWait: longest = Infinity, signal } = options;
    const maxWait = typeof longest === "number"
      ? longest
      : readLongestWait("hold", "maxWait", longest);
    const id = newPermitId();
    const waiting = waitFor(limiter, key, id, cost, maxWait);
    const request: WaitRequest = {
      limiter,
      key,
      cost,
      maxWait: Infinity,
      signal,
      afterUndo: false,
      target: waiting.target,
    };
    const decision = await waiting.admitted(request);
    return held(decision, id, key, cost, waiting.sentAt());
  }

  function hold(key: string, options: WaitingHoldOptions = {}): MaybePromise<Held> {
    checkText("hold", "key", key);
    checkOptions("hold", options, ACQUIRE_OPTIONS);
    const { cost = 1, maxWait, signal } = options;
    checkInteger("hold", "cost", cost, 1);
    if (maxWait === undefined) {
      signal?.throwIfAborted();
      return holdNow(key, cost, signal);
    }
    return signal?.aborted ? Promise.reject(signal.reason) : holdLater(key, cost, options);
  }

  function ask(key: string, cost: number): AskedPermit {
    const id = newPermitId();
    const sentAt = limiter.passing();
    return {
      argument: { id, cost },
      open: (decision) => openPermit({ limiter, renewals, times, key, id, cost, sentAt, decision }),
    };
  }

  const desk: PermitDesk = {
    hold,
    ask,
    verb: holdVerb,
    async withPermit(key, work, options) {
      checkFunction("hold a permit", "work", work);
      const { decision, permit } = await hold(key, options);
      if (permit === undefined) throw refused(key, options?.cost ?? 1, decision);
      const { signal } = options ?? {};
      try {
        return await work(
          signal === undefined ? permit.signal : AbortSignal.any([permit.signal, signal]),
        );
      } finally {
        await permit.release();
      }
    },
  };
  return desk;
};

/** The error of `withPermit` where no permit was free in time. */
function refused(key: string, cost: number, decision: Decision): RateLimitedError {
  const rule = "enough units must be free in time";
  return new RateLimitedError(
    errorMessage(`hold ${cost} of ${JSON.stringify(key)}`, rule, decision.remaining),
    decision,
  );
}

/**
 * Asks the store for a permit. If the call fails although the store may have given a permit, that
 * permit is released.
 */
function takePermit(
  limiter: QueueLimiter,
  key: string,
  id: number,
  cost: number,
): MaybePromise<Decision> {
  return orElse(() => limiter.call(holdVerb, key, { id, cost }), (error) => {
    if (error instanceof StoreUnavailableError && error.applied === "unknown") {
      void releasePermit(limiter, { key, id, cost });
    }
    throw error;
  });
}

/** A wait for a permit. */
interface PermitWait {
  readonly target: WaitTarget;
  /** When the last try was sent. */
  sentAt(): number;
  /** Waits; answers with a refusal if the time is up. */
  admitted(request: WaitRequest): Promise<Decision>;
}

/** Makes the wait for a permit. */
function waitFor(
  limiter: QueueLimiter,
  key: string,
  id: number,
  cost: number,
  maxWait: number,
): PermitWait {
  let sentAt = 0;
  let isSent = false;
  let isLate = false;
  let poll = FIRST_POLL;
  let last: Decision | undefined;
  let stop = () => {};
  let leave = (_reason: unknown) => {};

  /** Leaves, unless a try was sent a moment ago: the store then has time to answer it. */
  function endWait(): void {
    const left = isSent && !isLate ? sentAt + MIN_ANSWER_TIME - limiter.passing() : 0;
    if (left <= 0) return leave(TIME_IS_UP);
    isLate = true;
    stop = limiter.after(left, endWait);
  }

  function answered(decision: Decision): Attempt {
    isSent = false;
    if (!decision.allowed) {
      last = decision;
      if (isLate) leave(TIME_IS_UP);
    }
    return { decision, sight: decision.source === "policy" ? undefined : SIGHT };
  }

  const target: WaitTarget = {
    take() {
      sentAt = limiter.passing();
      isSent = true;
      return andThen(takePermit(limiter, key, id, cost), answered);
    },
    giveBack: () => releasePermit(limiter, { key, id, cost }),
    longestSleep() {
      if (limiter.tellsReleases) return Infinity;
      const sleep = Math.ceil(poll * (1 + randomShare()) / 2);
      poll = Math.min(2 * poll, LAST_POLL);
      return sleep;
    },
    entered(leaveQueue) {
      leave = leaveQueue;
      if (maxWait < Infinity) stop = limiter.after(maxWait, endWait);
    },
  };
  return {
    target,
    sentAt: () => sentAt,
    async admitted(request) {
      try {
        const mayBeHeld = cost <= limiter.algorithm.capacity;
        const admitted = mayBeHeld ? await waitInQueue(request) : undefined;
        if (admitted !== undefined) return admitted.decision;
      } catch (error) {
        if (error instanceof RateLimitedError) return error.decision;
        if (error !== TIME_IS_UP) throw error;
        if (isSent && last === undefined) throw unanswered({ ...request, maxWait }, "unknown");
      } finally {
        stop();
      }
      const seen = last ?? await look({ ...request, maxWait });
      return { ...seen, allowed: false, retryAfter: Math.max(1, seen.retryAfter) };
    },
  };
}
