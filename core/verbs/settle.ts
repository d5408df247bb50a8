/*
 * Settles receipts: units of its call are given back as far as they still count, or units
 * beyond it are charged. A state remembers the receipts that were settled, so that a call which is
 * made again changes nothing.
 */

import type { Algorithm } from "../algorithm.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import type { Entry } from "../receipts/entry.ts";
import { withEntry, withSettled } from "../receipts/noted.ts";
import type { Receipt, Settlement } from "../receipts/receipt.ts";
import type { Verb, VerbKind } from "../store.ts";

/** The change that a receipt asks for. */
export interface SettleArgument {
  /** The receipt, checked by the caller. */
  readonly receipt: Pick<Receipt, "id" | "at" | "until" | "units" | "expires" | "marks" | "source">;
  /** Units to give back; all of them that are left if there are fewer. */
  readonly back?: number | undefined;
  /** Units that were really used, in place of `back`: after that the receipt is settled. */
  readonly actual?: number | undefined;
}

/** The outcome of a receipt, and the state after it. */
interface Settled extends Omit<Settlement, "decision"> {
  readonly next: unknown;
}

/** Gives back units of a receipt, or settles one whose call cost no more than it took. */
export const giveBackReceipt: Verb<SettleArgument, Settlement> = settling("settle", "free");

/** Settles a receipt whose call cost more than it took. */
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
      const settle = settleBy(algorithm);
      return {
        next: (state: unknown, now: number, argument: SettleArgument) =>
          settle(state, now, argument).next,
        answer(state: unknown, next: unknown, now: number, argument: SettleArgument) {
          const { returned, charged, outcome } = settle(state, now, argument);
          return { decision: decide(next, next, now, 0), returned, charged, outcome };
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

/** The answer about a receipt that nothing is known of. */
export function unsettled(decision: Decision): Settlement {
  return { decision, returned: 0, charged: 0, outcome: "unknown" };
}

function settleBy(
  algorithm: Algorithm,
): (state: unknown, now: number, argument: SettleArgument) => Settled {
  const { charge } = splitReducer(algorithm);
  const { receipts } = algorithm.internals ?? {};
  if (receipts === undefined) {
    return (state, now, { receipt, actual = 0 }) =>
      actual > receipt.units
        ? excess(charge, state, now, actual - receipt.units)
        : unchanged(state, "unknown");
  }
  return function settle(state, now, { receipt, back, actual }) {
    const { id, until, units, expires, marks } = receipt;
    const held = receipts.settled(state, now);
    const known = receipts.entries(held);
    const entry = known.find((entry) => entry.id === id);
    if (marks.length !== receipts.size) return unchanged(state, "unknown");
    if (expires && entry === undefined) {
      return unchanged(state, now >= until ? "expired" : "unknown");
    }
    const left = entry?.units ?? units;
    if (left === 0 && units > 0) return unchanged(state, "unknown");
    const isOver = now >= until;
    if (isOver && (actual ?? 0) <= left) return unchanged(state, "expired");
    const wanted = back === undefined ? left - actual! : Math.min(back, left);
    const [next, returned] = wanted > 0 && !isOver
      ? receipts.giveBack(held, now, wanted, marks, back === undefined || wanted === left)
      : [wanted < 0 ? charge(held, now, -wanted) : held, 0];
    const others = known.filter((entry) => entry.id !== id);
    const rest = back === undefined ? 0 : left - wanted;
    const entries = remember(others, receipt, rest, now);
    // Units that do not count any more will never count again: nothing need be remembered of them.
    const isSame = entry === undefined && wanted > 0 && returned === 0;
    return {
      next: isSame ? state : receipts.remember(next, entries, now),
      returned,
      charged: wanted < 0 ? -wanted : 0,
      outcome: "settled",
    };
  };
}

/** The receipts that a state remembers after one of them was settled, in whole or in part. */
function remember(
  others: readonly Entry[],
  { id, at, until, units, expires, marks }: SettleArgument["receipt"],
  left: number,
  now: number,
): readonly Entry[] {
  // A receipt that expires is known by its entry: without one it was settled.
  if (expires) return left === 0 ? others : withEntry(others, { id, until, units: left, marks });
  if (units === 0 || id === 0) return others;
  // As long as the units of a call now would count; a receipt may say what no state can hold.
  const known = Math.min(now + Math.max(0, until - at), Number.MAX_SAFE_INTEGER);
  return withSettled(others, { id, until: known, units: left, marks: undefined });
}

function excess(
  charge: (state: unknown, now: number, cost: number) => unknown,
  state: unknown,
  now: number,
  units: number,
): Settled {
  return { next: charge(state, now, units), returned: 0, charged: units, outcome: "settled" };
}

function unchanged(state: unknown, outcome: Settlement["outcome"]): Settled {
  return { next: state, returned: 0, charged: 0, outcome };
}
