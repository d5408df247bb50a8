/*
 * Reservations on several limiters: units that are settled later and permits, all or none, with one
 * receipt.
 */

import { holdsPermits } from "../algorithms/holds_permits.ts";
import { isPromise, type MaybePromise } from "../maybe_promise.ts";
import {
  checkCost,
  checkOptions,
  checkText,
  type OptionNames,
  typeError,
} from "../options/checks.ts";
import type { Decision } from "../decision.ts";
import { checkReceipt, type Receipt, receiptFor, type Settlement } from "./receipt.ts";
import { askToLook } from "../together/ask.ts";
import { takeAll } from "../together/take_all.ts";
import { hold } from "../verbs/hold.ts";
import { peek } from "../verbs/peek.ts";
import { release } from "../verbs/release.ts";
import { reserve } from "../verbs/take_backable.ts";
import { releasedPermit, unsettled } from "../verbs/settle.ts";
import {
  type LimiterAsk,
  reported,
  requireDistinct,
  requireEntries,
} from "../limiter/consume_all.ts";
import { failOnEntries } from "../limiter/fail_on.ts";
import { familiesOf } from "./families_of.ts";
import { internalsOf, requireLimiter } from "../limiter/limiter_internals.ts";
import type {
  AnyLimiterBase,
  AsyncLimiter,
  AsyncLimiterBase,
  Limiter,
  SyncLimiterBase,
} from "../limiter/limiter_types.ts";
import { newPermitId } from "../limiter/permit_ids.ts";
import { settle } from "./reservations.ts";

/**
 * One key of a `reserveAll`.
 *
 * @typeParam OfLimiter `Limiter` or `AsyncLimiter`.
 */
export interface ReserveEntry<OfLimiter> {
  /** The limiter that decides. Its algorithm must be `reservable(...)`, or have permits. */
  readonly limiter: OfLimiter;
  /** The limiter's key: a non-empty string. */
  readonly key: string;
  /** Units to take or, of `concurrency`, to hold; an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
}

/**
 * The receipt of a `reserveAll`: plain data that survives JSON, so another process may settle it. It is
 * not signed: never give it to a client.
 */
export interface ReceiptOfAll {
  /** A receipt for each entry, in order. That of a permit has the permit's id. */
  readonly parts: readonly Receipt[];
}

/** The answer of `reserveAll`. */
export interface ReservationOfAll {
  /** The decision of all entries together, with that of each entry in `parts`. */
  readonly decision: Decision;
  /** The receipt; `undefined` if the call was refused, and holds nothing. */
  readonly receipt: ReceiptOfAll | undefined;
}

/** Units that were used of each entry; `undefined` for as many as were reserved. */
export type UsedOfAll = readonly (number | undefined)[];

const ENTRY_OPTIONS: OptionNames<ReserveEntry<unknown>> = { limiter: true, key: true, cost: true };
/** The most entries of a receipt. */
const MOST_PARTS = 10_000;

/** The limiters of receipts that were made here. */
const limitersOf = new WeakMap<ReceiptOfAll, readonly AnyLimiterBase[]>();

/**
 * Takes from several keys of one store as `consumeAll` does, all or nothing, and answers with one
 * receipt by which all of it is settled later: the tokens and the money of a request to a model, and a
 * permit of how many may run at once.
 *
 * A permit is held until the receipt is settled or released, at the longest for the `ttl` of
 * `concurrency`. It is not renewed, because the receipt may be settled by another process.
 *
 * @param entries At least one; all on one store and one clock, no stored key twice.
 * @returns The decision and the receipt; a promise of them on a store that answers by promises.
 * @throws {TypeError} If there is no entry, if an algorithm is neither reservable nor has permits, if
 * entries differ in their store or clock, if a stored key comes twice, or if a key is not a non-empty
 * string.
 * @throws {RangeError} If a cost is not an integer of at least 0.
 *
 * @example
 * ```ts
 * import {
 *   concurrency, gcra, limiter, memoryStore, reservable, reserveAll, settleAll,
 * } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const [store, clock] = [memoryStore(), () => 0];
 * const rate = reservable(gcra({ limit: 60_000, period: "1m", burst: 1_000 }));
 * const tokens = limiter(rate, { store, prefix: "tokens", clock });
 * const permits = limiter(concurrency({ limit: 1, ttl: "1m" }), { store, prefix: "calls", clock });
 * const entries = [{ limiter: tokens, key: "ada", cost: 300 }, { limiter: permits, key: "ada" }];
 *
 * const { receipt } = reserveAll(entries);
 * assert.equal(reserveAll(entries).decision.allowed, false); // one call at once, and no token is taken
 * await settleAll(receipt!, [120, undefined]);
 * assert.equal(tokens.peek("ada", 0).remaining, 880);
 * assert.equal(reserveAll(entries).decision.allowed, true);
 * ```
 */
export function reserveAll(
  entries: readonly ReserveEntry<SyncLimiterBase<never>>[],
): ReservationOfAll;
/** `reserveAll` on a store that answers by promises. */
export function reserveAll(
  entries: readonly ReserveEntry<AsyncLimiterBase<never>>[],
): Promise<ReservationOfAll>;
/** `reserveAll` on a store of either kind. */
export function reserveAll(
  entries: readonly ReserveEntry<AnyLimiterBase>[],
): ReservationOfAll | Promise<ReservationOfAll>;
export function reserveAll(
  entries: readonly ReserveEntry<AnyLimiterBase>[],
): ReservationOfAll | Promise<ReservationOfAll> {
  try {
    return reserveEntries(entries) as ReservationOfAll | Promise<ReservationOfAll>;
  } catch (error) {
    return failOnEntries(entries, error);
  }
}

function reserveEntries(
  entries: readonly ReserveEntry<AnyLimiterBase>[],
): MaybePromise<ReservationOfAll> {
  const action = "reserve all";
  requireEntries(action, entries);
  const id = newPermitId();
  const asks = entries.map((entry): LimiterAsk => {
    checkOptions(action, entry ?? {}, ENTRY_OPTIONS);
    const { limiter, key, cost = 1 } = entry ?? {};
    const counter = requireLimiter(action, limiter);
    checkText(action, "key", key);
    checkCost(action, cost, 0);
    const argument = { id, cost };
    if (!holdsPermits(limiter.algorithm)) {
      return { bound: counter.family.bind(reserve), key, argument, counter };
    }
    // Without units there is no permit to hold.
    if (cost === 0) return askToLook(counter, key, 0);
    return { bound: counter.family.bind(hold), key, argument, counter };
  });
  requireDistinct(action, asks);
  const limiters = entries.map(({ limiter }) => limiter);

  function reservation(answers: readonly unknown[]): ReservationOfAll {
    const decision = reported(asks, answers);
    if (!decision.allowed) return { decision, receipt: undefined };
    const parts = asks.map((ask, index) => receiptOf(ask, id, answers[index]));
    const receipt: ReceiptOfAll = { parts };
    limitersOf.set(receipt, limiters);
    return { decision, receipt };
  }

  const answers = takeAll(limiters[0]!.store, asks, asks[0]!.counter.now());
  return isPromise(answers) ? answers.then(reservation) : reservation(answers);
}

function receiptOf(
  { counter, bound: { verb }, key, argument }: LimiterAsk,
  id: number,
  answer: unknown,
): Receipt {
  const decision = verb.decisionOf(answer);
  const mark = (verb as unknown) === reserve
    ? (answer as ReturnType<typeof reserve.answerOf>).mark
    : { id, number: 0, until: 0, marks: [] };
  return receiptFor(familiesOf(counter)[0]!, key, verb.units(argument), decision, mark);
}

/**
 * Settles the receipt of a `reserveAll` as `settle` does, each entry at the units that it used, and
 * releases its permits. If the store fails, it may be tried again: no part is settled twice.
 *
 * @param receipt The receipt.
 * @param used Units that were used of each entry, in order: an integer of at least 0; `undefined` for
 * as many as were reserved. Those of a permit do not count.
 * @param limiters The limiters of the entries, in order. They are required if the receipt comes from
 * another process, or from JSON.
 * @returns The settlement of each entry, in order.
 * @throws {TypeError} If the receipt is not one, or its limiters are not known.
 * @throws {RangeError} If a number of `used` is not an integer of at least 0.
 */
export async function settleAll(
  receipt: ReceiptOfAll,
  used: UsedOfAll,
  limiters?: readonly AnyLimiterBase[],
): Promise<readonly Settlement[]> {
  return await settledAll("settle all", receipt, used, limiters);
}

/** Gives back all that a `reserveAll` took: `settleAll` with 0 units of each entry. */
export async function releaseAll(
  receipt: ReceiptOfAll,
  limiters?: readonly AnyLimiterBase[],
): Promise<readonly Settlement[]> {
  return await settledAll("release all", receipt, undefined, limiters);
}

/** @param used Units that were used of each entry; `undefined` for none. */
async function settledAll(
  action: string,
  receipt: ReceiptOfAll,
  used: UsedOfAll | undefined,
  given: readonly AnyLimiterBase[] | undefined,
): Promise<readonly Settlement[]> {
  const parts = checkParts(action, receipt);
  const limiters = given ?? limitersOf.get(receipt);
  if (!Array.isArray(limiters) || limiters.length !== parts.length) {
    const rule = `it needs the ${parts.length} limiters of the receipt, in order`;
    throw typeError(action, rule, limiters);
  }
  if (used !== undefined && (!Array.isArray(used) || used.length !== parts.length)) {
    throw typeError(action, `used must be a list of ${parts.length}, one an entry`, used);
  }
  for (const units of used ?? []) if (units !== undefined) checkCost(action, units, 0);
  for (const limiter of limiters) requireLimiter(action, limiter);
  const settling = parts.map(async (part, index) => {
    const limiter = limiters[index]!;
    if (holdsPermits(limiter.algorithm)) return await released(limiter, part);
    const units = used === undefined ? 0 : used[index] ?? part.units;
    return await settle(limiter as Limiter | AsyncLimiter, part.key, part, units);
  });
  // All of them have ended before an error is thrown, so that a second try does not meet the first.
  await Promise.allSettled(settling);
  return await Promise.all(settling);
}

/** Releases a permit. */
async function released(limiter: AnyLimiterBase, part: Receipt): Promise<Settlement> {
  const { id, key, units: cost, family } = part;
  const internals = internalsOf(limiter)!;
  const { call } = internals;
  if (!familiesOf(internals).includes(family) || part.source === "policy" || cost === 0) {
    return unsettled(await call(peek, key, 0));
  }
  return releasedPermit(await call(release, key, { id, cost }));
}

function checkParts(action: string, receipt: ReceiptOfAll): readonly Receipt[] {
  const { parts } = receipt ?? {};
  if (!Array.isArray(parts) || parts.length === 0 || parts.length > MOST_PARTS) {
    throw typeError(action, "receipt must come from reserveAll", receipt);
  }
  return parts.map((part) => checkReceipt(action, part));
}
