/*
 * `balance`: a function on a limiter for pages that show people what they have used.
 */

import { StoreUnavailableError } from "../errors.ts";
import { andThen, type MaybePromise } from "../maybe_promise.ts";
import { checkText } from "../options/checks.ts";
import { type Balance, balance as balanceVerb } from "../verbs/balance.ts";
import { failOn } from "./fail_on.ts";
import { requireLimiter } from "./limiter_internals.ts";
import type { AnyLimiterBase, AsyncLimiterBase, SyncLimiterBase } from "./limiter_types.ts";

/**
 * Says how much a key has used, how much is left and when it begins anew, for a page that shows it. It
 * changes nothing.
 *
 * `peek` answers for a call: `peek(key)` of a fresh key leaves out the unit of that call, and
 * `peek(key, 0)` is allowed on a blocked key.
 *
 * @param limiter The limiter.
 * @param key The key to look at: a non-empty string.
 * @returns The balance; with a store that answers by promises, a promise of it.
 * @throws {TypeError} If the key is not a non-empty string.
 * @throws {StoreUnavailableError} If the store could not be reached: no failure policy knows a balance.
 *
 * @example
 * ```ts
 * import { balance, calendarWindow, limiter } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const now = Date.UTC(2026, 10, 28);
 * const calls = limiter(
 *   calendarWindow({ limit: 1_000, every: "month", zone: "UTC" }),
 *   { clock: () => now },
 * );
 * calls.consume("customer:7", 250);
 * const { limit, used, remaining, resetAt } = balance(calls, "customer:7");
 * assert.deepEqual([limit, used, remaining], [1_000, 250, 750]);
 * assert.equal(new Date(resetAt).toISOString(), "2026-12-01T00:00:00.000Z");
 * ```
 */
export function balance(limiter: SyncLimiterBase<never>, key: string): Balance;
/** The same on a store that answers by promises. */
export function balance(limiter: AsyncLimiterBase<never>, key: string): Promise<Balance>;
/** The same on a store of either kind. */
export function balance(limiter: AnyLimiterBase, key: string): Balance | Promise<Balance>;
export function balance(limiter: object, key: string): MaybePromise<Balance> {
  const { store, call } = requireLimiter("get a balance", limiter);
  try {
    checkText("get a balance", "key", key);
    return andThen(call(balanceVerb, key, undefined), (seen) => seen.balance ?? unknownBalance());
  } catch (error) {
    return failOn(store, error);
  }
}

function unknownBalance(): never {
  const message = "Cannot get a balance as its store must answer, and a failure policy did";
  throw new StoreUnavailableError(message, "no");
}

export type { Balance };
