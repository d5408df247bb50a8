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
  readonly argument: number;
}

/**
 * A request, and its calls. Most requests have one, so it stands in the request itself: an object and a
 * list for it would cost a tenth of a decision.
 */
export interface LimitsAsked extends Asked {
  refusal: Refusal | undefined;
  delays: boolean;
  plan: LimitPlan;
  /** The first limiter; `undefined` without calls. */
  limiter: AnyLimiter | undefined;
  /** The first key. */
  key: string;
  /** The units of the first key. */
  argument: number;
  /** All calls; `undefined` if there is at most one. */
  calls: readonly LimitCall[] | undefined;
}

/** All calls of a request, in the order of its limits. */
export function callsOf(
  { calls, plan, limiter, key, argument }: LimitsAsked,
): readonly LimitCall[] {
  if (calls !== undefined) return calls;
  return limiter === undefined ? [] : [callOn(plan, key, argument)];
}

/** The call on the last limiter of a plan. */
function callOn({ last }: LimitPlan, key: string, argument: number): LimitCall {
  const { limiter, counter, takes: bound } = last!;
  return { limiter, counter, bound, key, argument };
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
  const plan = next(asked.plan, limiter);
  if (asked.limiter === undefined) {
    asked.limiter = limiter;
    asked.key = key;
    asked.argument = units;
    return follow(asked, plan);
  }
  const calls = callsOf(asked);
  const call = callOn(plan, key, units);
  const twin = twinOf(calls, call);
  if (twin === undefined) {
    asked.calls = calls.length === 1 ? [calls[0]!, call] : [...calls, call];
    return follow(asked, plan);
  }
  const argument = twin.argument + units;
  const isLower = limiter.algorithm.capacity < twin.limiter.algorithm.capacity;
  const merged = { ...(isLower ? call : twin), argument };
  asked.calls = calls.map((each) => each === twin ? merged : each);
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
