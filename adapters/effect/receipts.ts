/*
 * Reservations as effects: units that are taken as an estimate, and settled by their receipt.
 */

import type * as Effect from "effect/Effect";

import type { AsyncLimiter, Limiter } from "../../core/limiter/limiter_types.ts";
import { reserve as reserveUnits } from "../../core/receipts/reservations.ts";
import type {
  Receipt,
  ReceiptOutcome,
  Settlement as CoreSettlement,
} from "../../core/receipts/receipt.ts";
import { type Binder, callLimit, recordVerdict } from "./bound_limit.ts";
import { type Decision, withDurations } from "./decision.ts";
import type { RateLimitError } from "./errors.ts";
import type { Limit } from "./limit.ts";

/** The answer of `reserve`. */
export interface Reservation {
  /** The decision, with durations. */
  readonly decision: Decision;
  /** The receipt by which the units are settled: plain data; `undefined` if the call was refused. */
  readonly receipt: Receipt | undefined;
}

/** The answer of `settle` and `release`. */
export interface Settlement {
  /** The balance afterwards, with durations. */
  readonly decision: Decision;
  /** Units given back; with a fraction if a unit had drained in part. */
  readonly returned: number;
  /** Units charged beyond those of the receipt. */
  readonly charged: number;
  /** The outcome of the receipt. */
  readonly outcome: ReceiptOutcome;
}

/** Takes units, and answers with their receipt. */
export function reserve(
  bind: Binder,
  limit: Limit,
  key: string,
  cost: number = 1,
): Effect.Effect<Reservation, RateLimitError> {
  return callLimit(
    bind,
    "reserve",
    limit,
    (limiter) => reserveUnits(limiter, key, cost),
    ({ decision, receipt }, bound, fiber) => {
      recordVerdict(fiber, bound, "reserve", decision, cost);
      return { decision: withDurations(decision), receipt };
    },
  );
}

/** Settles a receipt by one of the calls of a limiter. */
export function settleBy(
  bind: Binder,
  verb: "settle" | "release",
  limit: Limit,
  call: (limiter: Limiter | AsyncLimiter) => CoreSettlement | Promise<CoreSettlement>,
): Effect.Effect<Settlement, RateLimitError> {
  return callLimit(bind, verb, limit, call, (settlement) => ({
    ...settlement,
    decision: withDurations(settlement.decision),
  }));
}
