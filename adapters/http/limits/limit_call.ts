/*
 * The calls of a request on its limits: a linked list with one call for each limit. The plan of a
 * call covers its limiter and those before it, so the last call stands for the whole list.
 */

import type { Asked } from "../gate/decider.ts";
import type { Refusal } from "../gate/refusal.ts";
import type { AnyLimiter } from "./limit_options.ts";
import type { LimitPlan, PlannedLimiter } from "./limit_plan.ts";

/**
 * The call of a request on one limit, linked to the calls on the limits before it. It is also the
 * operation that a store runs if limits of one store are called together.
 */
export interface LimitCall extends Asked {
  readonly plan: LimitPlan;
  readonly limiter: AnyLimiter;
  /**
   * The verb that takes its units; `undefined` for a limiter that was not made by `limiter(...)`.
   */
  readonly bound: PlannedLimiter["takes"];
  readonly key: string;
  /** The units. */
  readonly argument: number;
  readonly before: LimitCall | undefined;
}

/** The call of a request that is refused before anything is decided. */
export function refusedCall(
  request: unknown,
  info: unknown,
  shadowed: boolean,
  plan: LimitPlan,
  limiter: AnyLimiter,
  refusal: Refusal,
): LimitCall {
  return {
    request,
    info,
    shadowed,
    refusal,
    delays: false,
    plan,
    limiter,
    bound: undefined,
    key: "",
    argument: 0,
    before: undefined,
  };
}

/** All calls, in the order of the limits. */
export function limitCallsOf(last: LimitCall): readonly LimitCall[] {
  const { before } = last;
  if (before === undefined) return [last];
  return before.before === undefined ? [before, last] : [...limitCallsOf(before), last];
}

/** Whether one of the calls is on the key that the limiter stores for `key`. */
export function hasCallOn(last: LimitCall, limiter: AnyLimiter, key: string): boolean {
  let call: LimitCall | undefined = last;
  for (; call !== undefined; call = call.before) {
    if (isOn(call, limiter, key)) return true;
  }
  return false;
}

/**
 * Adds units to the call on a key that has one already. Two keys of a request may be the same,
 * because clients may choose their own.
 */
export function withMore(
  last: LimitCall,
  limiter: AnyLimiter,
  key: string,
  units: number,
): LimitCall {
  return isOn(last, limiter, key)
    ? { ...last, argument: last.argument + units }
    : { ...last, before: withMore(last.before!, limiter, key, units) };
}

function isOn(call: LimitCall, limiter: AnyLimiter, key: string): boolean {
  if (call.key !== key) return false;
  const own = call.limiter;
  if (own === limiter) return true;
  return own.store === limiter.store && own.prefix === limiter.prefix &&
    own.algorithm.id === limiter.algorithm.id;
}
