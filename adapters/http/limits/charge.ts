/*
 * The charges of a request on its limits: a linked list with one charge for each limit. The plan of
 * a charge covers its limiter and those before it, so the last charge stands for the whole list.
 */

import type { Asked } from "../gate/decider.ts";
import type { Refusal } from "../gate/refusal.ts";
import type { AnyLimiter } from "./limit_options.ts";
import type { LimitPlan, PlannedLimiter } from "./limit_plan.ts";

/**
 * The charge of a request on one limit, linked to the charges on the limits before it. It is also
 * the operation that a store runs, where limits of one store are charged together.
 */
export interface Charge extends Asked {
  readonly plan: LimitPlan;
  readonly limiter: AnyLimiter;
  /**
   * The verb that takes its units; `undefined` of a limiter that was not made by `limiter(...)`.
   */
  readonly bound: PlannedLimiter["takes"];
  readonly key: string;
  /** The units. */
  readonly argument: number;
  readonly before: Charge | undefined;
}

/** The charge of a request that is refused before anything is decided. */
export function refusedCharge(
  request: unknown,
  info: unknown,
  shadowed: boolean,
  plan: LimitPlan,
  limiter: AnyLimiter,
  refusal: Refusal,
): Charge {
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

/** All charges, in the order of the limits. */
export function chargesOf(last: Charge): readonly Charge[] {
  const { before } = last;
  if (before === undefined) return [last];
  return before.before === undefined ? [before, last] : [...chargesOf(before), last];
}

/** Whether one of the charges is on the key that the limiter stores for `key`. */
export function isCharged(last: Charge, limiter: AnyLimiter, key: string): boolean {
  let charge: Charge | undefined = last;
  for (; charge !== undefined; charge = charge.before) {
    if (isOn(charge, limiter, key)) return true;
  }
  return false;
}

/**
 * Adds units to the charge on a key that is charged already. Two keys of a request may be the same,
 * because clients may choose their own.
 */
export function withMore(last: Charge, limiter: AnyLimiter, key: string, units: number): Charge {
  return isOn(last, limiter, key)
    ? { ...last, argument: last.argument + units }
    : { ...last, before: withMore(last.before!, limiter, key, units) };
}

function isOn(charge: Charge, limiter: AnyLimiter, key: string): boolean {
  if (charge.key !== key) return false;
  const own = charge.limiter;
  if (own === limiter) return true;
  return own.store === limiter.store && own.prefix === limiter.prefix &&
    own.algorithm.id === limiter.algorithm.id;
}
