/*
 * The calls of a limiter that make receipts and settle them.
 */

import { andThen, isPromise, type MaybePromise } from "../maybe_promise.ts";
import { checkOptions } from "../options/checks.ts";
import { type Period, readPeriod } from "../options/period.ts";
import {
  checkReceipt,
  type Receipt,
  type Reservation,
  type Settlement,
} from "../receipts/receipt.ts";
import type { Verb } from "../store.ts";
import type { Decision } from "../decision.ts";
import { peek } from "../verbs/peek.ts";
import { type Mark, reserve, type Reserved, reserveFor } from "../verbs/reserve.ts";
import { chargeReceipt, giveBackReceipt, type SettleArgument, unsettled } from "../verbs/settle.ts";
import { newPermitId } from "./permit_ids.ts";
import type { StoreNames } from "./store_names.ts";

/** The options of `reserve`. */
export interface ReserveOptions {
  /** The time after which the units are given back unless they were settled: milliseconds or text. */
  readonly ttl?: Period | undefined;
}

/** A value as a limiter returns it whose decisions come as `Answer`: at once, or by a promise. */
export type As<Answer, Value> = Answer extends Promise<unknown> ? Promise<Value> : Value;

/** The part of a limiter that receipts need. */
interface ReceiptLimiter {
  readonly names: StoreNames;
  call<Argument, Answer>(
    verb: Verb<Argument, Answer>,
    key: string,
    argument: Argument,
  ): MaybePromise<Answer>;
  report(decision: Decision, key: string, cost: number): void;
  readonly family: string;
  checkCall(action: string, key: string, cost: number, least?: number): void;
}

/** The calls on receipts, for stores that answer at once or by promises. */
interface ReceiptCalls {
  reserve(key: string, cost?: number, options?: ReserveOptions): MaybePromise<Reservation>;
  refund(key: string, receipt: Receipt, units?: number): MaybePromise<Settlement>;
  settle(key: string, receipt: Receipt, actual: number): MaybePromise<Settlement>;
  release(key: string, receipt: Receipt): MaybePromise<Settlement>;
}

/** The mark of a call whose units cannot be given back. */
const NO_MARK: Mark = Object.freeze({ at: 0, until: 0, expires: false, marks: Object.freeze([]) });

/** The calls of a limiter that make receipts and settle them. */
export function receiptCalls(limiter: ReceiptLimiter): ReceiptCalls {
  const { names, family, call, report, checkCall } = limiter;

  function settled(
    action: string,
    key: string,
    given: Receipt,
    units: Pick<SettleArgument, "back" | "actual">,
  ): MaybePromise<Settlement> {
    const receipt = checkReceipt(action, given);
    const isOwn = receipt.key === key && receipt.family === family && receipt.source !== "policy";
    return andThen(
      isOwn && names.isOf(receipt.store, receipt.source),
      (isHere) =>
        isHere ? settledHere(key, receipt, units) : andThen(call(peek, key, 0), unsettled),
    );
  }

  function settledHere(
    key: string,
    receipt: Receipt,
    units: Pick<SettleArgument, "back" | "actual">,
  ): MaybePromise<Settlement> {
    const isExcess = units.actual !== undefined && units.actual > receipt.units;
    const verb = isExcess ? chargeReceipt : giveBackReceipt;
    const { back, actual } = units;
    return andThen(call(verb, key, { receipt, back, actual }), (settlement) => {
      const { decision, returned, charged } = settlement;
      report(decision, key, charged - returned);
      return settlement;
    });
  }

  function reservation(
    { decision, mark }: Reserved,
    key: string,
    id: number,
    units: number,
  ): MaybePromise<Reservation> {
    report(decision, key, units);
    const { allowed, source } = decision;
    if (!allowed) return { decision, receipt: undefined };
    const { at, until, expires, marks } = mark ?? NO_MARK;
    const reservedIn = (store: string | undefined): Reservation => ({
      decision,
      receipt: { id, key, family, store, at, units, until, expires, marks, source },
    });
    const store = source === "policy" ? undefined : names.of(source);
    return typeof store === "string" ? reservedIn(store) : andThen(store, reservedIn);
  }

  return {
    reserve(key, cost = 1, options) {
      checkCall("reserve", key, cost);
      const ttl = options === undefined ? 0 : ttlOf(options);
      const id = newPermitId();
      const verb = ttl === 0 ? reserve : reserveFor;
      const reserved = call(verb, key, { cost, id, ttl });
      return isPromise(reserved)
        ? reserved.then((it) => reservation(it, key, id, cost))
        : reservation(reserved, key, id, cost);
    },
    refund(key, receipt, units) {
      checkCall("refund", key, units ?? 1, 1);
      return settled("refund", key, receipt, { back: units ?? receipt.units });
    },
    settle(key, receipt, actual) {
      checkCall("settle", key, actual);
      return settled("settle", key, receipt, { actual });
    },
    release(key, receipt) {
      checkCall("release", key, 0);
      return settled("release", key, receipt, { actual: 0 });
    },
  };
}

function ttlOf(options: ReserveOptions): number {
  checkOptions<ReserveOptions>("reserve", options, { ttl: true });
  return options.ttl === undefined ? 0 : readPeriod("reserve", "ttl", options.ttl);
}
