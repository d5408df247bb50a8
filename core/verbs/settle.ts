/*
 * Settles receipts. A call either gives back those units of the receipt that still count, or
 * charges units beyond the receipt. A state remembers which receipts were settled, so that a
 * repeated call changes nothing.
 */

import type { Algorithm } from "../algorithm.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import { type RememberedReceipts, SETTLED_WIDTH } from "../receipts/remembered_receipts.ts";
import { withOpen, withSettled } from "../receipts/noted.ts";
import type { Receipt, Settlement } from "../receipts/receipt.ts";
import type { Verb, VerbKind } from "../store.ts";

/** The argument of both verbs: a receipt, and either `back` or `actual`. */
export interface SettleArgument {
  /** The receipt, checked by the caller. */
  readonly receipt: Pick<Receipt, "id" | "at" | "until" | "units" | "expires" | "marks" | "source">;
  /** Units to give back. If the receipt has fewer units left, all of them. */
  readonly back?: number | undefined;
  /** Units that the call really used, instead of `back`. No units of the receipt are left then. */
  readonly actual?: number | undefined;
}

/** The result of settling a receipt, before the state notes it. */
interface End extends Omit<Settlement, "decision"> {
  /** The next state, still without a note of this call; `undefined` if nothing changes. */
  readonly next: unknown;
  /** The index of the receipt among those that the state remembers; -1 if it is not there. */
  readonly place: number;
  /** Units of the receipt that may still be given back later. */
  readonly left: number;
}

/**
 * Gives back units of a receipt, or settles a receipt whose call used no more than was reserved.
 */
export const giveBackReceipt: Verb<SettleArgument, Settlement> = settling("settle", "free");

/** Settles a receipt whose call used more than was reserved. */
export const chargeReceipt: Verb<SettleArgument, Settlement> = settling("settle", "charge");

function settling(name: string, kind: VerbKind): Verb<SettleArgument, Settlement> {
  return Object.freeze({
    name,
    kind,
    units: ({ receipt: { units }, back, actual }: SettleArgument) =>
      back ?? Math.abs(units - actual!),
    on(algorithm: Algorithm) {
      requireNoPermits("settle", algorithm);
      const { decide } = splitReducer(algorithm);
      const { receipts } = algorithm.internals ?? {};
      const endOf = ending(algorithm);

      function after(state: unknown, now: number, { receipt }: SettleArgument, end: End): unknown {
        const { next, place, left } = end;
        if (next === undefined) return state;
        if (receipts === undefined) return next;
        const known = receipts.entries(next);
        const entries = remembered(known, place, receipt, left, now);
        return entries === known ? next : receipts.remember(next, entries, now);
      }

      function answerOf({ returned, charged, outcome }: End, next: unknown, now: number) {
        return { decision: decide(next, next, now, 0), returned, charged, outcome };
      }

      return {
        next: (state: unknown, now: number, argument: SettleArgument) =>
          after(state, now, argument, endOf(state, now, argument)),
        answer: (state: unknown, next: unknown, now: number, argument: SettleArgument) =>
          answerOf(endOf(state, now, argument), next, now),
        step(state: unknown, now: number, argument: SettleArgument) {
          const end = endOf(state, now, argument);
          const next = after(state, now, argument, end);
          return [answerOf(end, next, now), next] as const;
        },
        uncharged: (state: unknown, now: number) => unsettled(decide(state, state, now, 0)),
      };
    },
    decisionOf: ({ decision }: Settlement) => decision,
    answerOf: (decision: Decision, answer?: Settlement) =>
      answer === undefined || decision.source === "policy"
        ? unsettled(decision)
        : { ...answer, decision },
    transition: () => undefined,
    sourceOf: ({ receipt: { source } }: SettleArgument) => source,
  });
}

/** The answer for a receipt that the key does not know. */
export function unsettled(decision: Decision): Settlement {
  return { decision, returned: 0, charged: 0, outcome: "unknown" };
}

function ending(
  algorithm: Algorithm,
): (state: unknown, now: number, argument: SettleArgument) => End {
  const { charge } = splitReducer(algorithm);
  const { receipts } = algorithm.internals ?? {};
  if (receipts === undefined) {
    return (state, now, { receipt: { units }, actual = 0 }) =>
      actual > units
        ? settled(charge(state, now, actual - units), 0, actual - units, -1, 0)
        : UNKNOWN;
  }
  return function endOf(state, now, { receipt, back, actual }) {
    const { id, until, units, expires, marks } = receipt;
    if (marks.length !== receipts.size) return UNKNOWN;
    const held = receipts.settled(state, now);
    const known = receipts.entries(held);
    const place = expires ? placeOfOpen(known, id) : placeOfSettled(known, id);
    const isOver = now >= until;
    if (expires && place === -1) return isOver ? EXPIRED : UNKNOWN;
    // The receipt was altered: the key knows it with a time to live, so its units come back anyway.
    if (!expires && placeOfOpen(known, id) !== -1) return UNKNOWN;
    const most = place === -1
      ? units
      : expires
      ? known.open[place]!.units
      : known.settled[place + 2]!;
    if (most === 0 && units > 0) return UNKNOWN;
    if (isOver && (actual ?? 0) <= most) return EXPIRED;
    const wanted = back === undefined ? most - actual! : Math.min(back, most);
    const left = back === undefined ? 0 : most - wanted;
    if (wanted < 0) return settled(charge(held, now, -wanted), 0, -wanted, place, left);
    if (wanted === 0) return settled(held, 0, 0, place, left);
    const [next, returned] = receipts.giveBack(
      held,
      now,
      wanted,
      marks,
      back === undefined || left === 0,
    );
    // No unit counted any more, and none will count later, so the receipt need not be remembered.
    const isForgotten = returned === 0 && place === -1;
    return settled(isForgotten ? undefined : next, returned, 0, place, left);
  };
}

function settled(
  next: unknown,
  returned: number,
  charged: number,
  place: number,
  left: number,
): End {
  return { next, returned, charged, outcome: "settled", place, left };
}

const NOTHING = { next: undefined, returned: 0, charged: 0, place: -1, left: 0 };
const UNKNOWN: End = Object.freeze({ ...NOTHING, outcome: "unknown" });
const EXPIRED: End = Object.freeze({ ...NOTHING, outcome: "expired" });

/**
 * The index of an open receipt, which is one with a time to live; -1 if the state has no such
 * receipt.
 */
function placeOfOpen({ open }: RememberedReceipts, id: number): number {
  for (let place = open.length - 1; place >= 0; place--) {
    if (open[place]!.id === id) return place;
  }
  return -1;
}

/** The index at which the numbers of a settled receipt begin; -1 if it is not there. */
function placeOfSettled({ settled }: RememberedReceipts, id: number): number {
  for (let place = settled.length - SETTLED_WIDTH; place >= 0; place -= SETTLED_WIDTH) {
    if (settled[place + 1] === id) return place;
  }
  return -1;
}

/** The receipts that a state remembers after one of them was settled, in whole or in part. */
function remembered(
  known: RememberedReceipts,
  place: number,
  { id, at, until, units, expires, marks }: SettleArgument["receipt"],
  left: number,
  now: number,
): RememberedReceipts {
  // A receipt with a time to live has an entry only until it is settled.
  if (expires) {
    return withOpen(known, place, left === 0 ? undefined : { id, until, units: left, marks });
  }
  if (units === 0 || id === 0) return known;
  // The state remembers the receipt for as long as units taken now would count. If the clock is
  // behind the receipt's, it remembers the receipt for at least as long as the receipt's own units
  // count. The times come from the caller, so they may be larger than a state can hold.
  const last = Math.min(now + Math.max(0, until - Math.min(at, now)), Number.MAX_SAFE_INTEGER);
  return withSettled(known, place, last, id, left);
}
