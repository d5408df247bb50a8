/*
 * Takes a request's units from all of its limits, or from none.
 */

import type { Decision } from "../../../core/decision.ts";
import type { Permit } from "../../../core/limiter/permit.ts";
import type { AskedPermit } from "../../../core/limiter/permit_desk.ts";
import { newPermitId } from "../../../core/limiter/permit_ids.ts";
import { checkCost, checkText } from "../../../core/options/checks.ts";
import { type Ask, askToLook, decisionsIn } from "../../../core/together/ask.ts";
import { takeAll } from "../../../core/together/take_all.ts";
import { giveBack, type Taken, takenBy } from "../../../core/together/taken.ts";
import { takeBackable } from "../../../core/verbs/take_backable.ts";
import type { Decided } from "../gate/decider.ts";
import { decidedBy, type LimitCall, type LimitsAsked } from "./limits_asked.ts";

/** An ask for something that is given back: units, or a permit. */
interface HoldingAsk extends Ask {
  readonly permit: AskedPermit | undefined;
}

/**
 * Takes from the limits of a request. If a limit delays it, it waits, or gives up its place if it cannot
 * wait. In shadow mode it does not wait.
 *
 * @param longest The longest delay that a call may have, in milliseconds; may be `Infinity`.
 */
export function takeFromLimits(
  asked: LimitsAsked,
  longest: number,
): Decided | Promise<Decided> {
  const { plan: { delays, holds, keeps }, calls, shadowed } = asked;
  const isHolding = keeps || holds || (delays && !shadowed);
  const first = calls[0]!;
  if (calls.length === 1 && !isHolding) return consumeAlone(asked, first);
  for (let index = 0; index < calls.length; index++) checkCall(calls[index]!);
  const holding = isHolding ? holdingAsks(calls, shadowed ? undefined : longest) : undefined;
  const { store, now } = first.counter;
  const answers = takeAll(store, holding ?? calls, now());
  return Array.isArray(answers)
    ? decided(asked, holding, answers)
    : decidedLater(asked, holding, answers as PromiseLike<readonly unknown[]>);
}

/** The usual case: a limit whose units are not given back. */
function consumeAlone(
  asked: LimitsAsked,
  call: LimitCall,
): Decided | Promise<Decided> {
  checkCall(call);
  const { counter, bound, key, argument } = call;
  const decision = bound.call(key, argument, counter.now()) as Decision;
  // A decision has no `then`, and looking for one costs more.
  if (decision.allowed === undefined) return decidedLater(asked, undefined, inList(decision));
  counter.report(decision, key, argument);
  return decidedBy(asked, [decision], undefined, undefined);
}

async function inList<Value>(value: PromiseLike<Value> | Value): Promise<readonly Value[]> {
  return [await value];
}

// A function of its own, because a function that makes a closure pays for it at every call.
async function decidedLater(
  asked: LimitsAsked,
  holding: readonly HoldingAsk[] | undefined,
  answers: PromiseLike<readonly unknown[]>,
): Promise<Decided> {
  return decided(asked, holding, await answers);
}

function holdingAsks(
  calls: readonly LimitCall[],
  maxDelay: number | undefined,
): readonly HoldingAsk[] {
  const id = newPermitId();
  return calls.map(({ counter, key, argument: cost }) => {
    if (cost === 0) return { ...askToLook(counter, key, 0), permit: undefined };
    const { family, permits } = counter;
    const permit = permits?.ask(key, cost);
    const bound = permits === undefined ? family.bind(takeBackable) : family.bind(permits.verb);
    const argument = permit?.argument ?? { cost, id, maxDelay };
    return { counter, bound, key, argument, permit };
  });
}

/** @param holding The asks, if they may have to be given back. */
function decided(
  asked: LimitsAsked,
  holding: readonly HoldingAsk[] | undefined,
  answers: readonly unknown[],
): Decided {
  const { calls } = asked;
  const decisions = holding === undefined
    ? answers as readonly Decision[]
    : decisionsIn(holding, answers);
  let isAllowed = true;
  for (let index = 0; index < calls.length; index++) {
    const { counter, key, argument } = calls[index]!;
    const decision = decisions[index]!;
    if (!decision.allowed) isAllowed = false;
    counter.report(decision, key, argument);
  }
  return holding !== undefined && isAllowed
    ? held(asked, holding, answers, decisions)
    : decidedBy(asked, decisions, undefined, undefined);
}

/** The decision of limits that have given something to hold. */
function held(
  asked: LimitsAsked,
  holding: readonly HoldingAsk[],
  answers: readonly unknown[],
  decisions: readonly Decision[],
): Decided {
  const units: Taken[] = [];
  const permits: Permit[] = [];
  holding.forEach((ask, index) => {
    if (ask.permit !== undefined) return void permits.push(ask.permit.open(decisions[index]!));
    const taken = takenBy(ask, answers[index]);
    if (taken.undo !== undefined) units.push(taken);
  });
  return decidedBy(
    asked,
    decisions,
    units.length === 0 ? undefined : () => giveBack(units),
    permits.length === 0 ? undefined : () => permits.forEach((permit) => permit.release()),
  );
}

function checkCall({ key, argument: units }: LimitCall): void {
  // The common case is written out because every request takes this path.
  if (typeof key === "string" && key !== "" && units >>> 0 === units) return;
  checkText("consume", "key", key);
  checkCost("consume", units, 0);
}
