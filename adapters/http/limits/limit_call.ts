/*
 * The calls of a request on its limits. They are read one after another, and the plan follows: it covers
 * the limiters of all calls so far.
 */

import { isSameKey } from "../../../core/repeated_operation.ts";
import type { LimiterInternals } from "../../../core/limiter/limiter_internals.ts";
import type { Ask } from "../../../core/together/ask.ts";
import type { Asked } from "../gate/decider.ts";
import type { Refusal } from "../gate/refusal.ts";
import type { AnyLimiter } from "./limit_options.ts";
import type { LimitPlan, NextPlan } from "./limit_plan.ts";

/** The call of a request on one limit. It is also what a store is asked if limits do not differ. */
export interface LimitCall extends Ask<LimiterInternals> {
  readonly limiter: AnyLimiter;
  /** The units. */
  argument: number;
}

/** A request, and its calls. */
export interface LimitsAsked extends Asked {
  refusal: Refusal | undefined;
  delays: boolean;
  plan: LimitPlan;
  calls: readonly LimitCall[];
}

/** The plan without limiters, and the function that finds the plan with one more. */
export interface Plans {
  readonly empty: LimitPlan;
  readonly next: NextPlan;
}

/**
 * Adds a call. Units of a key that has a call already are added to that call, because clients may choose
 * keys, and two of them may be the same. If their limits differ, the lower one decides.
 */
export function addCall(
  asked: LimitsAsked,
  { empty, next }: Plans,
  limiter: AnyLimiter,
  key: string,
  units: number,
): void {
  const { calls } = asked;
  const plan = next(asked.plan, limiter);
  const { counter, takes: bound } = plan.last!;
  const call: LimitCall = { limiter, counter, bound, key, argument: units };
  const twin = twinOf(calls, call);
  if (twin === undefined) {
    // Lists are of the right length, because a list that grows takes place for many calls.
    asked.calls = calls.length === 0
      ? [call]
      : calls.length === 1
      ? [calls[0]!, call]
      : [...calls, call];
    return follow(asked, plan);
  }
  twin.argument += units;
  if (twin.limiter.algorithm.capacity <= limiter.algorithm.capacity) return;
  const lower = { ...call, argument: twin.argument };
  asked.calls = calls.map((each) => each === twin ? lower : each);
  follow(asked, asked.calls.reduce((plan, each) => next(plan, each.limiter), empty));
}

/** The call on the same stored key, if there is one. */
function twinOf(calls: readonly LimitCall[], call: LimitCall): LimitCall | undefined {
  for (let index = 0; index < calls.length; index++) {
    if (isSameKey(calls[index]!, call)) return calls[index];
  }
  return undefined;
}

function follow(asked: LimitsAsked, plan: LimitPlan): void {
  asked.plan = plan;
  asked.delays = plan.delays;
}
