/*
 * Takes a request's units from all of its limits, or from none.
 */

import type { Decision } from "../../../core/decision.ts";
import type { Permit } from "../../../core/limiter/permit.ts";
import type { AskedPermit } from "../../../core/limiter/permit_desk.ts";
import { newPermitId } from "../../../core/limiter/permit_ids.ts";
import { checkCost, checkText } from "../../../core/options/checks.ts";
import { type Ask, askNothing } from "../../../core/together/ask.ts";
import { takeAll } from "../../../core/together/take_all.ts";
import { takenBy } from "../../../core/together/taken.ts";
import type { Undo } from "../../../core/together/undo.ts";
import type { LimitCall, LimitsAsked } from "./limit_call.ts";

/** The decisions of a request's limits, and all that they gave. */
export interface LimitsTaken {
  /** The decision of each limit, in order. After a refusal, those of the others are looks. */
  readonly decisions: readonly Decision[];
  /** Gives units back; once for each limit that can. */
  readonly undos: readonly Undo[];
  /** The permits that the request holds. */
  readonly permits: readonly Permit[];
}

const NOTHING: readonly never[] = [];

/** Takes units that are not given back, and no permits. */
export function takeFromLimits({ calls }: LimitsAsked): LimitsTaken | PromiseLike<LimitsTaken> {
  for (let index = 0; index < calls.length; index++) checkCall(calls[index]!);
  const { limiter: { store }, counter } = calls[0]!;
  const answers = takeAll(store, calls, counter.now());
  const taken = (answers: readonly unknown[]) => {
    const decisions = answers as readonly Decision[];
    report(calls, decisions);
    return { decisions, undos: NOTHING, permits: NOTHING };
  };
  return Array.isArray(answers) ? taken(answers) : (answers as Promise<Decision[]>).then(taken);
}

/**
 * Takes units that may have to be given back, and permits. If a limit delays the request, it waits, or
 * gives up its place if it cannot wait. In shadow mode it does not wait.
 *
 * @param longest The longest delay that a call may have, in milliseconds; may be `Infinity`.
 */
export function holdFromLimits(
  { plan: { limiters }, calls, shadowed }: LimitsAsked,
  longest: number,
): LimitsTaken | PromiseLike<LimitsTaken> {
  const id = newPermitId();
  const maxDelay = shadowed ? undefined : longest;
  const permits: (AskedPermit | undefined)[] = [];
  const asks = calls.map((call, index): Ask => {
    checkCall(call);
    const { counter, key, argument: cost } = call;
    const permit = cost === 0 ? undefined : counter.permits?.ask(key, cost);
    permits.push(permit);
    if (cost === 0) return askNothing(counter, key, 0);
    const argument = permit?.argument ?? { cost, id, maxDelay };
    return { bound: limiters[index]!.keeps, key, argument, counter };
  });

  function taken(answers: readonly unknown[]): LimitsTaken {
    const decisions = asks.map(({ bound: { verb } }, index) => verb.decisionOf(answers[index]));
    report(calls, decisions);
    if (!decisions.every(({ allowed }) => allowed)) {
      return { decisions, undos: NOTHING, permits: NOTHING };
    }
    return {
      decisions,
      undos: asks.flatMap((ask, index) =>
        permits[index] === undefined ? takenBy(ask, answers[index]).undo ?? [] : []
      ),
      permits: permits.flatMap((permit, index) => permit?.open(decisions[index]!) ?? []),
    };
  }

  const { limiter: { store }, counter } = calls[0]!;
  const answers = takeAll(store, asks, counter.now());
  return Array.isArray(answers) ? taken(answers) : (answers as Promise<unknown[]>).then(taken);
}

/** Reports each limit's decision to its own `onDecision`. */
function report(calls: readonly LimitCall[], decisions: readonly Decision[]): void {
  for (let index = 0; index < calls.length; index++) {
    const { counter, key, argument } = calls[index]!;
    counter.report(decisions[index]!, key, argument);
  }
}

function checkCall({ key, argument: units }: LimitCall): void {
  // The common case is written out because every request takes this path.
  if (typeof key === "string" && key !== "" && units >>> 0 === units) return;
  checkText("consume", "key", key);
  checkCost("consume", units, 0);
}
