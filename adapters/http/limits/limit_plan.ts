/*
 * A plan holds what is worked out once for the list of limiters that a request is charged to.
 * Limiters may be chosen for each request, so the plans form a tree: from the plan of some
 * limiters, each further limiter leads to the plan that includes it.
 */

import { distinctNames } from "../../../core/algorithms/distinct_names.ts";
import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { type LimiterInternals, requireTogether } from "../../../core/limiter/limiter_internals.ts";
import {
  headerWriter,
  type HeaderWriterOptions,
  readHeaderForms,
} from "../fields/header_writer.ts";
import type { PolicyPlan } from "../gate/decider.ts";
import { quotaExceeded } from "../gate/refusal.ts";

/** The plan of a list of limiters, which share a store and a clock. */
export interface LimitPlan {
  readonly counters: readonly LimiterInternals[];
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
  /** The child plan that was requested last, because it is usually requested again. */
  recent: { readonly counter: LimiterInternals; readonly plan: LimitPlan } | undefined;
  readonly nexts: WeakMap<LimiterInternals, LimitPlan>;
}

/** Finds the plan with one more limiter. */
export type NextPlan = (plan: LimitPlan, counter: LimiterInternals) => LimitPlan;

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
 * `RangeError` if a policy cannot stand in header fields, such as a name with a line break.
 */
export function nextPlan(options: PlanOptions): NextPlan {
  return function next(plan, counter) {
    const { recent } = plan;
    if (recent !== undefined && recent.counter === counter) return recent.plan;
    let found = plan.nexts.get(counter);
    if (found === undefined) {
      found = planOf([...plan.counters, counter], options);
      plan.nexts.set(counter, found);
    }
    plan.recent = { counter, plan: found };
    return found;
  };
}

function planOf(counters: readonly LimiterInternals[], options: PlanOptions): LimitPlan {
  if (counters.length > 0) requireTogether(ACTION, counters.map((counter) => ({ counter })));
  const algorithms = counters.map(({ algorithm }) => algorithm);
  // A store of several parts may have to give back what one part took.
  const isDivided = counters.length > 1 && counters[0]!.store.slotOf !== undefined;
  return {
    counters,
    delays: algorithms.some(mayDelay),
    holds: counters.some(({ permits }) => permits !== undefined),
    keeps: options.refunds === true || isDivided,
    simple: algorithms.every(({ policies }) => policies.length === 1),
    capacity: Math.min(...algorithms.map(({ capacity }) => capacity)),
    policies: policyPlan(algorithms.flatMap(({ policies }) => policies), options),
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
