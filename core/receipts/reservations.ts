/*
 * Functions on a limiter that take an estimate and settle it later. The algorithm must be reservable.
 */

import { andThen, isPromise, type MaybePromise } from "../maybe_promise.ts";
import { checkCost, checkText, typeError } from "../options/checks.ts";
import {
  checkReceipt,
  type Receipt,
  receiptFor,
  type Reservation,
  type Settlement,
} from "./receipt.ts";
import { peek } from "../verbs/peek.ts";
import { reserve as reserveVerb, type Reserved } from "../verbs/take_backable.ts";
import { settlingVerb, unsettled } from "../verbs/settle.ts";
import { failOn } from "../limiter/fail_on.ts";
import { familiesOf } from "./families_of.ts";
import { type LimiterInternals, requireLimiter } from "../limiter/limiter_internals.ts";
import type { AsyncLimiter, Limiter } from "../limiter/limiter_types.ts";
import { newPermitId } from "../limiter/permit_ids.ts";

/**
 * Takes as `consume` does, and answers with a receipt by which exactly these units can be settled
 * later: for a cost that is known only afterwards, or a job that may fail.
 *
 * @param limiter A limiter whose algorithm is `reservable(...)`.
 * @param key The key whose units are taken: a non-empty string.
 * @param cost Units to take, an integer of at least 0; default 1.
 * @returns The decision, and the receipt of an admitted call. With a store that answers by promises,
 * a promise of both.
 * @throws {TypeError} If the algorithm is not reservable, the key is not a non-empty string, or the
 * cost is not a number.
 * @throws {RangeError} If the cost is not an integer of at least 0.
 *
 * @example
 * ```ts
 * import { gcra, limiter, reservable, reserve, settle } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const rate = gcra({ limit: 1_000, period: "1m", burst: 1_000 });
 * const tokens = limiter(reservable(rate), { clock: () => 0 });
 * const { decision, receipt } = reserve(tokens, "user:42", 300);
 * assert.equal(decision.remaining, 700);
 * const { returned } = settle(tokens, "user:42", receipt!, 120);
 * assert.equal(returned, 180);
 * ```
 */
export function reserve(limiter: Limiter, key: string, cost?: number): Reservation;
/** The same on a store that answers by promises. */
export function reserve(limiter: AsyncLimiter, key: string, cost?: number): Promise<Reservation>;
/** The same on a store of either kind. */
export function reserve(
  limiter: Limiter | AsyncLimiter,
  key: string,
  cost?: number,
): Reservation | Promise<Reservation>;
export function reserve(
  limiter: Limiter | AsyncLimiter,
  key: string,
  cost: number = 1,
): MaybePromise<Reservation> {
  const internals = requireLimiter("reserve", limiter);
  try {
    requireReservable("reserve", internals);
    checkText("reserve", "key", key);
    checkCost("reserve", cost, 0);
    const reserved = internals.call(reserveVerb, key, { cost, id: newPermitId() });
    return isPromise(reserved)
      ? reserved.then((it) => reservation(internals, it, key, cost))
      : reservation(internals, reserved, key, cost);
  } catch (error) {
    return failOn(internals.store, error);
  }
}

function reservation(
  limiter: LimiterInternals,
  { decision, mark }: Reserved,
  key: string,
  units: number,
): Reservation {
  limiter.report(decision, key, units);
  if (!decision.allowed) return { decision, receipt: undefined };
  return { decision, receipt: receiptFor(familiesOf(limiter)[0]!, key, units, decision, mark) };
}

/**
 * Settles a receipt: afterwards, the key is as if the call had cost what it used. Units that still
 * count and were not used go back. Use beyond the receipt is charged now, beyond the limit if need be.
 * A receipt is settled at most once, from wherever and however often it is tried.
 *
 * @param limiter A limiter with the receipt's prefix and algorithm, in any process.
 * @param key The key of the receipt.
 * @param receipt The receipt of `reserve`.
 * @param used Units that the call really used, an integer of at least 0.
 * @returns The balance afterwards, the units that were returned or charged, and the outcome. With a
 * store that answers by promises, a promise of them.
 * @throws {TypeError} If the algorithm is not reservable, the key is not a non-empty string, or the
 * receipt is not a receipt.
 * @throws {RangeError} If `used` is not an integer of at least 0.
 */
export function settle(limiter: Limiter, key: string, receipt: Receipt, used: number): Settlement;
/** The same on a store that answers by promises. */
export function settle(
  limiter: AsyncLimiter,
  key: string,
  receipt: Receipt,
  used: number,
): Promise<Settlement>;
/** The same on a store of either kind. */
export function settle(
  limiter: Limiter | AsyncLimiter,
  key: string,
  receipt: Receipt,
  used: number,
): Settlement | Promise<Settlement>;
export function settle(
  limiter: Limiter | AsyncLimiter,
  key: string,
  receipt: Receipt,
  used: number,
): MaybePromise<Settlement> {
  return settled("settle", limiter, key, receipt, used);
}

/** Settles the receipt of a call that used nothing: `settle` with 0 units. */
export function release(limiter: Limiter, key: string, receipt: Receipt): Settlement;
/** The same on a store that answers by promises. */
export function release(
  limiter: AsyncLimiter,
  key: string,
  receipt: Receipt,
): Promise<Settlement>;
/** The same on a store of either kind. */
export function release(
  limiter: Limiter | AsyncLimiter,
  key: string,
  receipt: Receipt,
): Settlement | Promise<Settlement>;
export function release(
  limiter: Limiter | AsyncLimiter,
  key: string,
  receipt: Receipt,
): MaybePromise<Settlement> {
  return settled("release", limiter, key, receipt, 0);
}

function settled(
  action: string,
  limiter: Limiter | AsyncLimiter,
  key: string,
  given: Receipt,
  used: number,
): MaybePromise<Settlement> {
  const internals = requireLimiter(action, limiter);
  try {
    requireReservable(action, internals);
    checkText(action, "key", key);
    checkCost(action, used, 0);
    return settledBy(internals, key, checkReceipt(action, given), used);
  } catch (error) {
    return failOn(internals.store, error);
  }
}

function settledBy(
  limiter: LimiterInternals,
  key: string,
  receipt: Receipt,
  used: number,
): MaybePromise<Settlement> {
  const isOwn = receipt.key === key && familiesOf(limiter).includes(receipt.family) &&
    receipt.source !== "policy";
  if (!isOwn) return andThen(limiter.call(peek, key, 0), unsettled);
  const settlement = limiter.call(settlingVerb(receipt, used), key, { receipt, used });
  return isPromise(settlement)
    ? settlement.then((it) => reported(limiter, it, key))
    : reported(limiter, settlement, key);
}

function reported(limiter: LimiterInternals, settlement: Settlement, key: string): Settlement {
  const { decision, returned, charged } = settlement;
  limiter.report(decision, key, charged - returned);
  return settlement;
}

function requireReservable(action: string, { algorithm }: LimiterInternals): void {
  if (algorithm.internals?.receipts !== undefined) return;
  const rule = "the limiter's algorithm must be reservable(...), as in reservable(gcra({ ... }))";
  throw typeError(action, rule, algorithm.id);
}
