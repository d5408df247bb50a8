/*
 * Settles receipts: gives back what was estimated too high, or charges what was estimated too low.
 */

import type { Algorithm } from "../algorithm.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import type { Claim, Mark, Receipt, Settled, Settlement } from "../receipts/receipt.ts";
import type { Inverse, Verb, VerbKind } from "../store.ts";
import { giveBackCall } from "./give_back.ts";

/** A receipt, and the units that its call used. */
export interface SettleArgument {
  /** The receipt, checked by the caller. */
  readonly receipt: Claim & Pick<Receipt, "source">;
  /** Units that the call really used. */
  readonly used: number;
}

/** Settles a receipt whose call used no more than was reserved. */
export const giveBackReceipt: Verb<SettleArgument, Settlement> = settling("free");

/** Settles a receipt whose call used more than was reserved. */
export const chargeReceipt: Verb<SettleArgument, Settlement> = settling("charge");

/** The verb that settles a receipt whose call used so many units. */
export function settlingVerb(
  { units }: Pick<Receipt, "units">,
  used: number,
): Verb<SettleArgument, Settlement> {
  return used > units ? chargeReceipt : giveBackReceipt;
}

function settling(kind: VerbKind): Verb<SettleArgument, Settlement> {
  return Object.freeze({
    name: "settle",
    kind,
    units: ({ receipt: { units }, used }: SettleArgument) => Math.abs(units - used),
    on(algorithm: Algorithm) {
      requireNoPermits("settle", algorithm);
      const { decide } = splitReducer(algorithm);
      const settle = settlingOnce(algorithm);
      const answerOf = (
        { outcome, returned, charged }: Settled<unknown>,
        next: unknown,
        now: number,
      ): Settlement => ({ decision: decide(next, next, now, 0), outcome, returned, charged });
      return {
        next: (state: unknown, now: number, argument: SettleArgument) =>
          settle(state, now, argument).next,
        answer: (state: unknown, next: unknown, now: number, argument: SettleArgument) =>
          answerOf(settle(state, now, argument), next, now),
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

/**
 * The call that gives back units that were just taken; `undefined` if no mark finds them again.
 *
 * @param source The source that admitted the call.
 */
export function givingBack(
  units: number,
  { source }: Pick<Decision, "source">,
  mark: Mark | undefined,
): Inverse | undefined {
  if (mark === undefined || units === 0) return undefined;
  const { id, marks } = mark;
  if (id === 0) return { verb: giveBackCall, argument: { units, marks, source } };
  const argument: SettleArgument = { receipt: { ...mark, units, source }, used: 0 };
  return { verb: giveBackReceipt, argument };
}

/** The answer for a receipt that the key does not know. */
export function unsettled(decision: Decision): Settlement {
  return { decision, outcome: "unknown", returned: 0, charged: 0 };
}

/** The settlement of a permit by the answer to its release: a permit that was held is settled. */
export function releasedPermit(decision: Decision): Settlement {
  const isHeld = decision.allowed && decision.source !== "policy";
  return { ...unsettled(decision), outcome: isHeld ? "settled" : "unknown" };
}

type Settling = (state: unknown, now: number, argument: SettleArgument) => Settled<unknown>;

/**
 * Settles, and remembers the last result, because a store calls `next` and then `answer`. Only states
 * with open receipts are remembered: any other state may be a view of memory that a store reuses.
 */
function settlingOnce({ internals }: Algorithm): Settling {
  const { receipts } = internals ?? {};
  if (receipts === undefined) {
    return (state) => ({ next: state, outcome: "unknown", returned: 0, charged: 0 });
  }
  let last: SettleArgument | undefined;
  let at = 0;
  let held: unknown;
  let settled: Settled<unknown>;
  return (state, now, argument) => {
    if (argument === last && state === held && now === at) return settled;
    settled = receipts.settle(state, now, argument.receipt, argument.used);
    const isKept = receipts.isOpen(state);
    last = isKept ? argument : undefined;
    held = isKept ? state : undefined;
    at = now;
    return settled;
  };
}
