/*
 * `hold` and `withPermit`: functions on a limiter whose algorithm has permits.
 *
 * Callers wait in the same queue as those of `acquire`, but none is refused by projection: a permit
 * comes back when its holder is done, which no refusal can foretell. Where the store does not tell of
 * releases elsewhere, the head of the queue polls.
 */

import type { Decision } from "../decision.ts";
import { RateLimitedError } from "../errors.ts";
import { failOn } from "../limiter/fail_on.ts";
import { type LimiterInternals, requireLimiter } from "../limiter/limiter_internals.ts";
import type {
  AnyLimiterBase,
  AsyncLimiterBase,
  SyncLimiterBase,
} from "../limiter/limiter_types.ts";
import { heldOf, holdNow, type PermitLimiter, takePermit } from "../limiter/hold_now.ts";
import type { Held, HoldOptions, WaitingHoldOptions } from "../limiter/permit.ts";
import { randomShare } from "../limiter/permit_ids.ts";
import { andThen, isPromise, type MaybePromise } from "../maybe_promise.ts";
import {
  checkFunction,
  checkInteger,
  checkOptions,
  checkText,
  errorMessage,
  typeError,
} from "../options/checks.ts";
import { ACQUIRE_OPTIONS, admission, readMaxWait } from "./acquire.ts";
import type { Taking } from "./queue.ts";
import { hearsOthers } from "./units_back.ts";

/** Milliseconds until a refused caller tries again: after the first refusal, and at most. */
const FIRST_POLL = 25;
const LAST_POLL = 200;

/** The state that a held permit shows the queue. Nothing can be projected from it. */
const SIGHT = Object.freeze({ refusedState: undefined, at: 0, mark: undefined });

/**
 * Holds a permit of `concurrency`, which renews itself until it is released.
 *
 * With `maxWait` the call waits its turn, first come, first served for each key in the thread. A
 * release in the process wakes it; on the shared store, a release in any thread does. If the
 * store cannot tell of releases, the first caller tries again after 200 ms at the latest. The
 * call answers with a refusal when `maxWait` is over, or `maxWaiting` callers wait already.
 *
 * @param limiter A limiter whose algorithm is `concurrency(...)`, or an `all` with such a part.
 * @param key The key whose units are held: a non-empty string.
 * @param options The units, the longest wait, and a signal that ends the call.
 * @returns The decision, and the permit of an admitted call. With `maxWait`, or with a store that
 * answers by promises, a promise of both.
 * @throws {TypeError} If the algorithm has no permits, or an argument is of the wrong type.
 * @throws {RangeError} If an argument is out of range.
 * @throws {StoreUnavailableError} If the store cannot decide. A permit that it has given
 * nevertheless expires.
 * @throws The reason with which the signal was aborted.
 *
 * @example
 * ```ts
 * import { concurrency, hold, limiter } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const exports = limiter(concurrency({ limit: 1, ttl: "30s" }));
 * const { permit } = hold(exports, "tenant:7");
 * const waiting = hold(exports, "tenant:7", { maxWait: "1s" });
 * permit?.release();
 * assert.equal((await waiting).decision.allowed, true);
 * (await waiting).permit?.release();
 * ```
 */
export function hold(
  limiter: SyncLimiterBase<"permits">,
  key: string,
  options?: HoldOptions,
): Held<"sync">;
/** The same on a store that answers by promises. */
export function hold(
  limiter: AsyncLimiterBase<"permits">,
  key: string,
  options?: WaitingHoldOptions,
): Promise<Held<"async">>;
/** Waits for a permit, and holds it. */
export function hold(
  limiter: SyncLimiterBase<"permits">,
  key: string,
  options: WaitingHoldOptions,
): Promise<Held<"sync">>;
/** The same on a store of either kind. */
export function hold(
  limiter: AnyLimiterBase<"permits">,
  key: string,
  options?: WaitingHoldOptions,
): Held | Promise<Held>;
export function hold(
  limiter: object,
  key: string,
  options: WaitingHoldOptions = {},
): MaybePromise<Held> {
  const internals = requireLimiter("hold a permit", limiter);
  try {
    return holdOn(permitsOf(internals), key, options);
  } catch (error) {
    return failOn(internals.store, error);
  }
}

/**
 * Holds a permit while `work` runs, and releases it when `work` has ended, with or without an
 * error.
 *
 * @param limiter A limiter whose algorithm is `concurrency(...)`, or an `all` with such a part.
 * @param key The key whose units are held: a non-empty string.
 * @param work Its signal is aborted when the permit is lost, and when `options.signal` is.
 * @param options The options of `hold`: without `maxWait` the call does not wait.
 * @returns The answer of `work`.
 * @throws {RateLimitedError} If no permit is free in time.
 * @throws Any error of `hold` or of `work`.
 */
export async function withPermit<Value>(
  limiter: AnyLimiterBase<"permits">,
  key: string,
  work: (signal: AbortSignal) => Value | PromiseLike<Value>,
  options?: WaitingHoldOptions,
): Promise<Value> {
  const internals = requireLimiter("hold a permit", limiter);
  const permits = permitsOf(internals);
  checkFunction("hold a permit", "work", work);
  const { decision, permit } = await holdOn(permits, key, options);
  if (permit === undefined) throw refused(key, options?.cost ?? 1, decision);
  const { signal } = options ?? {};
  try {
    return await work(
      signal === undefined ? permit.signal : AbortSignal.any([permit.signal, signal]),
    );
  } finally {
    await permit.release();
  }
}

/** The error of `withPermit` where no permit was free in time. */
function refused(key: string, cost: number, decision: Decision): RateLimitedError {
  const rule = "enough units must be free in time";
  return new RateLimitedError(
    errorMessage(`hold ${cost} of ${JSON.stringify(key)}`, rule, decision.remaining),
    decision,
  );
}

function permitsOf(limiter: LimiterInternals): PermitLimiter {
  const { permits: desk, algorithm } = limiter;
  if (desk !== undefined) return { limiter, desk };
  const rule = "its algorithm must be concurrency(...), or an all(...) that contains it";
  throw typeError("hold a permit", rule, algorithm.id);
}

function holdOn(
  permits: PermitLimiter,
  key: string,
  options: WaitingHoldOptions = {},
): MaybePromise<Held> {
  checkText("hold", "key", key);
  checkOptions("hold", options, ACQUIRE_OPTIONS);
  const { cost = 1, maxWait, signal } = options;
  checkInteger("hold", "cost", cost, 1);
  if (maxWait !== undefined) {
    return holdInTurn(permits, key, cost, readMaxWait("hold", maxWait), signal);
  }
  signal?.throwIfAborted();
  const answer = holdNow(permits, key, cost);
  if (!isPromise(answer)) return answer;
  return answer.then((held) => {
    if (held.permit === undefined || !signal?.aborted) return held;
    return andThen(held.permit.release(), () => {
      throw signal.reason;
    });
  });
}

/** Waits for a permit. */
async function holdInTurn(
  permits: PermitLimiter,
  key: string,
  cost: number,
  maxWait: number,
  signal: AbortSignal | undefined,
): Promise<Held> {
  signal?.throwIfAborted();
  const { limiter, desk } = permits;
  let asked = desk.ask(key, cost);
  let poll = FIRST_POLL;
  const taking: Taking = {
    take() {
      asked = desk.ask(key, cost);
      return andThen(takePermit(permits, key, asked), (decision) => ({
        decision,
        sight: decision.source === "policy" ? undefined : SIGHT,
      }));
    },
    undoOf: () => asked.release,
    foretells: false,
    longestSleep() {
      if (hearsOthers(limiter)) return Infinity;
      const sleep = Math.ceil(poll * (1 + randomShare()) / 2);
      poll = Math.min(2 * poll, LAST_POLL);
      return sleep;
    },
  };
  try {
    const request = { limiter, key, cost, maxWait, signal, afterUndo: false, taking };
    const { decision } = await admission(request);
    return heldOf(permits, key, asked, decision);
  } catch (error) {
    if (!(error instanceof RateLimitedError)) throw error;
    return heldOf(permits, key, asked, error.decision);
  }
}
