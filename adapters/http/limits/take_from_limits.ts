/*
 * Takes a request's units from all of its limits, or from none.
 */

import type { Decision } from "../../../core/decision.ts";
import type { Permit } from "../../../core/limiter/permit.ts";
import type { AskedPermit } from "../../../core/limiter/permit_desk.ts";
import { newPermitId } from "../../../core/limiter/permit_ids.ts";
import { checkCost, checkText } from "../../../core/options/checks.ts";
import type { Ask } from "../../../core/together/ask.ts";
import { takeAll } from "../../../core/together/take_all.ts";
import { type Taken, takenBy } from "../../../core/together/taken.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { callsOf, type LimitCall, type LimitsAsked } from "./limit_call.ts";

/** The decisions of a request's limits, and all that they gave. */
export interface LimitsTaken {
  /** The decision of each limit, in order. After a refusal, those of the others are looks. */
  readonly decisions: readonly Decision[];
  /** The units that can be given back. */
  readonly units: Taken[];
  /** The permits that the request holds. */
  readonly permits: readonly Permit[];
}

const NOTHING: readonly never[] = [];

/** Takes units that are not given back, and no permits. */
export function takeFromLimits(
  calls: readonly LimitCall[],
): LimitsTaken | PromiseLike<LimitsTaken> {
  for (let index = 0; index < calls.length; index++) checkCall(calls[index]!);
  const { limiter: { store }, counter } = calls[0]!;
  const answers = takeAll(store, calls, counter.now());
  return Array.isArray(answers)
    ? consumed(calls, answers)
    : consumedLater(calls, answers as PromiseLike<readonly Decision[]>);
}

async function consumedLater(
  calls: readonly LimitCall[],
  answers: PromiseLike<readonly Decision[]>,
): Promise<LimitsTaken> {
  return consumed(calls, await answers);
}

function consumed(calls: readonly LimitCall[], decisions: readonly Decision[]): LimitsTaken {
  for (let index = 0; index < calls.length; index++) report(calls[index]!, decisions[index]!);
  return { decisions, units: [], permits: NOTHING };
}

/** An ask, and the permit that it is for. */
interface HoldingAsk extends Ask {
  readonly permit: AskedPermit | undefined;
}

/**
 * Takes units that may have to be given back, and permits. If a limit delays the request, it waits, or
 * gives up its place if it cannot wait. In shadow mode it does not wait.
 *
 * @param longest The longest delay that a call may have, in milliseconds; may be `Infinity`.
 */
export function holdFromLimits(
  asked: LimitsAsked,
  longest: number,
): LimitsTaken | PromiseLike<LimitsTaken> {
  const { plan: { limiters }, shadowed } = asked;
  const calls = callsOf(asked);
  const id = newPermitId();
  const maxDelay = shadowed ? undefined : longest;
  const asks: HoldingAsk[] = [];
  for (let index = 0; index < calls.length; index++) {
    const call = calls[index]!;
    checkCall(call);
    const { counter, key, argument: cost } = call;
    const bound = cost === 0 ? counter.family.bind(peek) : limiters[index]!.keeps;
    const permit = cost === 0 ? undefined : counter.permits?.ask(key, cost);
    const argument = cost === 0 ? 0 : permit?.argument ?? { cost, id, maxDelay };
    asks.push({ counter, bound, key, argument, permit });
  }
  const { limiter: { store }, counter } = calls[0]!;
  const answers = takeAll(store, asks, counter.now());
  return Array.isArray(answers)
    ? held(calls, asks, answers)
    : heldLater(calls, asks, answers as PromiseLike<readonly unknown[]>);
}

async function heldLater(
  calls: readonly LimitCall[],
  asks: readonly HoldingAsk[],
  answers: PromiseLike<readonly unknown[]>,
): Promise<LimitsTaken> {
  return held(calls, asks, await answers);
}

function held(
  calls: readonly LimitCall[],
  asks: readonly HoldingAsk[],
  answers: readonly unknown[],
): LimitsTaken {
  const decisions: Decision[] = [];
  let isAllowed = true;
  for (let index = 0; index < asks.length; index++) {
    const decision = asks[index]!.bound.verb.decisionOf(answers[index]);
    if (!decision.allowed) isAllowed = false;
    decisions.push(decision);
    report(calls[index]!, decision);
  }
  const units: Taken[] = [];
  const permits: Permit[] = [];
  for (let index = 0; isAllowed && index < asks.length; index++) {
    const ask = asks[index]!;
    if (ask.permit !== undefined) permits.push(ask.permit.open(decisions[index]!));
    else {
      const taken = takenBy(ask, answers[index]);
      if (taken.undo !== undefined) units.push(taken);
    }
  }
  return { decisions, units, permits };
}

/** Reports a limit's decision to its own `onDecision`. */
function report({ counter, key, argument }: LimitCall, decision: Decision): void {
  counter.report(decision, key, argument);
}

function checkCall({ key, argument: units }: LimitCall): void {
  // The common case is written out because every request takes this path.
  if (typeof key === "string" && key !== "" && units >>> 0 === units) return;
  checkText("consume", "key", key);
  checkCost("consume", units, 0);
}
