/*
 * A plan holds what is worked out once for the list of limiters that a request is charged to.
 * Limiters may be chosen for each request, so the plans form a tree: from the plan of some
 * limiters, each further limiter leads to the plan that includes it.
 */

import { distinctNames } from "../../../core/algorithms/distinct_names.ts";
import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { internalsOf, type LimiterInternals } from "../../../core/limiter/limiter_internals.ts";
import { rangeError, typeError } from "../../../core/options/checks.ts";
import type { BoundVerb } from "../../../core/store.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { takeBackable } from "../../../core/verbs/take_backable.ts";
import {
  headerWriter,
  type HeaderWriterOptions,
  readHeaderForms,
} from "../fields/header_writer.ts";
import type { PolicyPlan } from "../gate/decider.ts";
import { quotaExceeded } from "../gate/refusal.ts";
import type { AnyLimiter } from "./limit_options.ts";

// The answers of a verb are read by the verb itself.
// deno-lint-ignore no-explicit-any
type AnyBound = BoundVerb<any, any>;

/** A limiter of a request. */
export interface PlannedLimiter {
  readonly limiter: AnyLimiter;
  readonly counter: LimiterInternals;
  /** The verb that consumes units, or holds a permit. */
  readonly takes: AnyBound;
  /** The verb whose units may be given back; the same for permits. */
  readonly keeps: AnyBound;
  /** How many policies it has. */
  readonly policies: number;
}

/** The plan of a list of limiters, which share a store and a clock. */
export interface LimitPlan {
  readonly limiters: readonly PlannedLimiter[];
  /** Whether admitted calls may have to wait, and their places can be given back. */
  readonly delays: boolean;
  /** Whether any of them gives permits, which are released when the response has ended. */
  readonly holds: boolean;
  /** Whether units may have to be given back. Only then are they taken in a way that allows it. */
  readonly keeps: boolean;
  /** The largest cost that all of them admit. */
  readonly capacity: number;
  readonly policies: PolicyPlan;
  /** Whether each of them has a single policy. */
  readonly simple: boolean;
  /** The last limiter of the list. */
  readonly last: PlannedLimiter | undefined;
  /** The child plan that was requested last, because it is usually requested again. */
  recent: LimitPlan | undefined;
  readonly nexts: WeakMap<AnyLimiter, LimitPlan>;
}

/** Finds the plan with one more limiter. */
export type NextPlan = (plan: LimitPlan, limiter: AnyLimiter) => LimitPlan;

/** The options on which plans depend. */
export interface PlanOptions extends HeaderWriterOptions {
  /** Whether requests may get their units back at the end. */
  readonly refunds?: boolean;
}

const ACTION = "create rateLimit";

/** The plan without limiters, at the root of the tree. */
export function emptyPlan(options: PlanOptions): LimitPlan {
  return planOf([], options);
}

/**
 * Makes the function that finds plans.
 *
 * @returns A function that throws a `TypeError` if limiters do not share a store and a clock, and a
 * `RangeError` if a policy cannot stand in header fields, such as a name with a line break, or the
 * store cannot charge as many limits at once.
 */
export function nextPlan(options: PlanOptions): NextPlan {
  return function next(plan, limiter) {
    const { recent } = plan;
    if (recent !== undefined && recent.last!.limiter === limiter) return recent;
    let found = plan.nexts.get(limiter);
    if (found === undefined) {
      found = planOf([...plan.limiters, plannedLimiter(limiter)], options);
      plan.nexts.set(limiter, found);
    }
    plan.recent = found;
    return found;
  };
}

function plannedLimiter(limiter: AnyLimiter): PlannedLimiter {
  const counter = internalsOf(limiter)!;
  const { family, permits } = counter;
  const policies = limiter.algorithm.policies.length;
  const takes: AnyBound = permits === undefined ? family.bind(consume) : family.bind(permits.verb);
  const keeps = permits === undefined ? family.bind(takeBackable) : takes;
  return { limiter, counter, takes, keeps, policies };
}

function planOf(limiters: readonly PlannedLimiter[], options: PlanOptions): LimitPlan {
  requireTogether(limiters);
  const algorithms = limiters.map(({ limiter }) => limiter.algorithm);
  // A store of several parts may have to give back what one part took.
  const isDivided = limiters.length > 1 && limiters[0]!.limiter.store.slotOf !== undefined;
  return {
    limiters,
    delays: algorithms.some(mayDelay),
    holds: limiters.some(({ counter }) => counter.permits !== undefined),
    keeps: options.refunds === true || isDivided,
    simple: limiters.every(({ policies }) => policies === 1),
    capacity: Math.min(...algorithms.map(({ capacity }) => capacity)),
    policies: policyPlan(algorithms.flatMap(({ policies }) => policies), options),
    last: limiters.at(-1),
    recent: undefined,
    nexts: new WeakMap(),
  };
}

/**
 * The texts of answers about some policies.
 *
 * @throws {RangeError} If a policy cannot stand in header fields.
 */
export function policyPlan(
  policies: Parameters<typeof headerWriter>[0],
  options: HeaderWriterOptions,
): PolicyPlan {
  const names = distinctNames(policies);
  return {
    names,
    write: headerWriter(policies, options),
    timed: readHeaderForms(ACTION, options.headers).includes("legacy") ||
      policies.some(({ periodAt }) => periodAt !== undefined),
    // Most refusals have this very text, and writing it as JSON takes a fifth of their time.
    refusal: quotaExceeded(names),
  };
}

/** Requires limiters that can be charged at one instant. */
function requireTogether(limiters: readonly PlannedLimiter[]): void {
  const [first, ...others] = limiters;
  if (first === undefined) return;
  const { limiter: { store }, counter: { clock } } = first;
  for (const { limiter, counter } of others) {
    if (limiter.store !== store) {
      const rule = "its limits must share one store, as in limiter(algorithm, { store, prefix })";
      throw typeError(ACTION, rule, "several stores");
    }
    if (counter.clock !== clock) {
      throw typeError(ACTION, "its limits must share one clock", "several clocks");
    }
  }
  const { maxOperations: most = Infinity } = store;
  if (limiters.length <= most) return;
  throw rangeError(ACTION, `limits must be at most ${most} on this store`, limiters.length);
}
