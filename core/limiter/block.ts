/*
 * `block` and `unblock`: functions on a limiter whose algorithm is `blockable`.
 */

import { can } from "../algorithms/can.ts";
import type { Decision } from "../decision.ts";
import { guarded } from "../guarded.ts";
import { allOf, andThen, type MaybePromise } from "../maybe_promise.ts";
import { checkOptions, checkText, typeError } from "../options/checks.ts";
import { type Period, readPeriod } from "../options/period.ts";
import { readReason } from "../options/read_reason.ts";
import type { StoreBase } from "../store.ts";
import { block as blockVerb, unblock as unblockVerb } from "../verbs/block.ts";
import type { BlockNote } from "./block_note.ts";
import { failOn } from "./fail_on.ts";
import { type LimiterInternals, requireLimiter } from "./limiter_internals.ts";
import type { AnyLimiterBase, AsyncLimiterBase, SyncLimiterBase } from "./limiter_types.ts";

/** The note of an `unblock`. */
const ENDED: BlockNote = Object.freeze({ duration: 0, reason: undefined });

/** The options of `block`. */
export interface BlockOptions {
  /** Why, for `onBlock`: text of 1 to 200 characters. It is not stored. */
  readonly reason?: string | undefined;
}

/**
 * Blocks a key by hand: for `duration` from now on, every call that takes units of the key is
 * refused, and writes nothing. A longer block replaces a shorter block; a shorter block changes
 * nothing. A block `"forever"` ends by `unblock` or `reset` alone; `retryAfter` of a refusal is then
 * `Infinity`.
 *
 * @param limiter A limiter whose algorithm is `blockable(...)`, or an `all` with such a part.
 * @param key The key to block: a non-empty string.
 * @param duration How long to block it: whole milliseconds, text such as `"1h"`, or `"forever"`.
 * @param options `reason`, for `onBlock`: text of at most 200 characters. It is not stored.
 * @returns The balance: `remaining` is 0, and `nextAfter` counts to the next admission. With a store
 * that answers by promises, a promise of it.
 * @throws {TypeError} If the key is not a non-empty string, or keys of the algorithm cannot be
 *   blocked.
 * @throws {RangeError} If the duration is out of range, or the reason is too long.
 *
 * @example
 * ```ts
 * import { block, blockable, gcra, limiter, unblock } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const rate = gcra({ limit: 100, period: "1m", burst: 100 });
 * const api = limiter(blockable(rate));
 * block(api, "user:42", "1h", { reason: "abuse" });
 * assert.equal(api.consume("user:42").allowed, false);
 * unblock(api, "user:42");
 * assert.equal(api.consume("user:42").allowed, true);
 * ```
 */
export function block(
  limiter: SyncLimiterBase<"blocks">,
  key: string,
  duration: Period | "forever",
  options?: BlockOptions,
): Decision;
/** The same on a store that answers by promises. */
export function block(
  limiter: AsyncLimiterBase<"blocks">,
  key: string,
  duration: Period | "forever",
  options?: BlockOptions,
): Promise<Decision>;
/** The same on a store of either kind. */
export function block(
  limiter: AnyLimiterBase<"blocks">,
  key: string,
  duration: Period | "forever",
  options?: BlockOptions,
): Decision | Promise<Decision>;
export function block(
  limiter: object,
  key: string,
  duration: Period | "forever",
  options: BlockOptions = {},
): MaybePromise<Decision> {
  return onBlockable("block a key", limiter, key, (internals) => {
    const length = duration === "forever"
      ? Infinity
      : readPeriod("block a key", "duration", duration);
    checkOptions<BlockOptions>("block a key", options, { reason: true });
    const note = { duration: length, reason: readReason(options.reason) };
    return tellingOf(internals, key, note, internals.call(blockVerb, key, length));
  });
}

/**
 * Ends a block that was made by hand. The key is then as if it had never been blocked: earlier
 * use counts unless it has ended meanwhile. A lock of `lockout` stays: `reset` ends locks, too.
 *
 * @param limiter A limiter whose algorithm is `blockable(...)`, or an `all` with such a part.
 * @param key The key: a non-empty string.
 * @throws {TypeError} If the key is not a non-empty string, or keys of the algorithm cannot be
 *   blocked.
 */
export function unblock(limiter: SyncLimiterBase<"blocks">, key: string): Decision;
/** The same on a store that answers by promises. */
export function unblock(limiter: AsyncLimiterBase<"blocks">, key: string): Promise<Decision>;
/** The same on a store of either kind. */
export function unblock(
  limiter: AnyLimiterBase<"blocks">,
  key: string,
): Decision | Promise<Decision>;
export function unblock(limiter: object, key: string): MaybePromise<Decision> {
  return onBlockable(
    "unblock a key",
    limiter,
    key,
    (internals) => {
      const own = () => internals.call(unblockVerb, key, 0);
      return tellingOf(internals, key, ENDED, andThen(unblockOlder(internals, key), own));
    },
  );
}

/** Ends the key's blocks under older options, which the key would take over again once it is fresh. */
function unblockOlder(
  { store, family: { spec: { prefix, older } }, now }: LimiterInternals,
  key: string,
): MaybePromise<unknown> {
  const blockables = older.filter(({ algorithm }) => can(algorithm, "blocks"));
  return allOf<unknown>(
    blockables.map(({ algorithm }) =>
      (store as StoreBase).open({ prefix, algorithm, older: [] }).bind(unblockVerb)
        .call(key, 0, now())
    ),
  );
}

/** The answer, after `onBlock` was called with it. */
function tellingOf(
  { onBlock, failed }: LimiterInternals,
  key: string,
  note: BlockNote,
  answer: MaybePromise<Decision>,
): MaybePromise<Decision> {
  if (onBlock === undefined) return answer;
  return andThen(answer, (decision) => {
    guarded(onBlock, (error) => failed(error, key))(decision, key, note);
    return decision;
  });
}

function onBlockable(
  action: string,
  limiter: object,
  key: string,
  call: (internals: LimiterInternals) => MaybePromise<Decision>,
): MaybePromise<Decision> {
  const internals = requireLimiter(action, limiter);
  const { algorithm, store } = internals;
  try {
    if (!can(algorithm, "blocks")) {
      throw typeError(action, "the algorithm must be blockable(...)", algorithm.id);
    }
    checkText(action, "key", key);
    return call(internals);
  } catch (error) {
    return failOn(store, error);
  }
}
