/*
 * A plan holds what is worked out once for the list of limiters that a request is charged to.
 * Limiters may be chosen for each request, so the plans form a tree: from the plan of some
 * limiters, each further limiter leads to the plan that includes it.
 */

import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { internalsOf, type LimiterInternals } from "../../../core/limiter/limiter.ts";
import type { PermitDesk } from "../../../core/limiter/permit_desk.ts";
import { rangeError } from "../../../core/options/checks.ts";
import type { BoundVerb } from "../../../core/store.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { type ReserveArgument, type Reserved, takeBackable } from "../../../core/verbs/reserve.ts";
import { distinctNames } from "../../../core/algorithms/distinct_names.ts";
import {
  headerWriter,
  type HeaderWriterOptions,
  readHeaderForms,
} from "../fields/header_writer.ts";
import type { PolicyPlan } from "../gate/decider.ts";
import { quotaExceeded } from "../gate/refusal.ts";
import type { AnyLimiter } from "./limit_options.ts";

/** A limiter, with its place in the list of a request. */
export interface PlannedLimiter {
  readonly limiter: AnyLimiter;
  /** `undefined` for a limiter that was not made by `limiter(...)`. */
  readonly internals: LimiterInternals | undefined;
  /** The verb for charging several limits together: it consumes units, or holds a permit. */
  // deno-lint-ignore no-explicit-any
  readonly takes: BoundVerb<any, any> | undefined;
  /** The verb that takes units which may be given back. */
  readonly reserves: BoundVerb<ReserveArgument, Reserved> | undefined;
  /** Asks for the permit of a request; `undefined` for a limiter that gives no permits. */
  readonly ask: PermitDesk["ask"];
  /** Whether its admitted calls may have to wait, and their places can be given back. */
  readonly delays: boolean;
  /** How many policies it has. */
  readonly policies: number;
  readonly place: number;
}

/** Limiters of one store and one clock, which are charged at one instant. */
export type LimiterGroup = readonly PlannedLimiter[];

/** The plan of a list of limiters. */
export interface LimitPlan {
  readonly limiters: readonly PlannedLimiter[];
  readonly groups: readonly LimiterGroup[];
  readonly delays: boolean;
  /** Whether any of them gives permits, which are released when the response has ended. */
  readonly holds: boolean;
  /**
   * Whether units may have to be given back, when the request has ended or when another store
   * refuses. Only then are they taken with receipts.
   */
  readonly keeps: boolean;
  /** The largest cost that all of them admit. */
  readonly capacity: number;
  readonly policies: PolicyPlan;
  /** Whether one call of one store charges all of them, and answers with plain decisions. */
  readonly together: boolean;
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

/** The plan without limiters, at the root of the tree. */
export function emptyPlan(options: PlanOptions): LimitPlan {
  return planOf([], options);
}

/**
 * Makes the function that finds plans.
 *
 * @returns A function that throws a `RangeError` if a policy cannot stand in header fields, such as
 * a name with a line break, or the store cannot charge as many limits at once.
 */
export function nextPlan(options: PlanOptions): NextPlan {
  return function next(plan, limiter) {
    const { recent } = plan;
    if (recent !== undefined && recent.last!.limiter === limiter) return recent;
    let found = plan.nexts.get(limiter);
    if (found === undefined) {
      const place = plan.limiters.length;
      found = planOf([...plan.limiters, plannedLimiter(limiter, place)], options);
      plan.nexts.set(limiter, found);
    }
    plan.recent = found;
    return found;
  };
}

function plannedLimiter(limiter: AnyLimiter, place: number): PlannedLimiter {
  const { algorithm } = limiter;
  const internals = internalsOf(limiter);
  const delays = internals !== undefined && mayDelay(algorithm);
  const { ask, verb } = internals?.permits ?? {};
  const takes = internals?.bind<unknown, unknown>(verb ?? consume);
  const reserves = ask === undefined ? internals?.bind(takeBackable) : undefined;
  const policies = algorithm.policies.length;
  return { limiter, internals, takes, reserves, ask, delays, policies, place };
}

function planOf(limiters: readonly PlannedLimiter[], options: PlanOptions): LimitPlan {
  const groups = groupsOf(limiters);
  const keeps = options.refunds === true || groups.length > 1;
  const delays = limiters.some(({ delays }) => delays);
  const holds = limiters.some(({ ask }) => ask !== undefined);
  return {
    limiters,
    groups,
    delays,
    holds,
    keeps,
    together: groups.length === 1 && limiters.length > 1 && !delays && !holds && !keeps,
    simple: limiters.every(({ policies }) => policies === 1),
    capacity: Math.min(...limiters.map(({ limiter }) => limiter.algorithm.capacity)),
    policies: policyPlan(limiters.flatMap(({ limiter }) => limiter.algorithm.policies), options),
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
    timed: readHeaderForms("create rateLimit", options.headers).includes("legacy") ||
      policies.some(({ periodAt }) => periodAt !== undefined),
    // Most refusals have this very text, and writing it as JSON takes a fifth of their time.
    refusal: quotaExceeded(names),
  };
}

function groupsOf(limiters: readonly PlannedLimiter[]): readonly LimiterGroup[] {
  const groups: PlannedLimiter[][] = [];
  for (const each of limiters) {
    const group = groups.find(([first]) => isTogether(first!, each));
    if (group === undefined) groups.push([each]);
    else group.push(each);
  }
  for (const group of groups) checkGroup(group);
  return groups;
}

function isTogether(one: PlannedLimiter, other: PlannedLimiter): boolean {
  return one.internals !== undefined && other.internals !== undefined &&
    one.limiter.store === other.limiter.store && one.internals.clock === other.internals.clock;
}

function checkGroup(group: LimiterGroup): void {
  if (group.length === 1) return;
  const { maxOperations: most = Infinity } = group[0]!.limiter.store;
  if (group.length <= most) return;
  const rule = `limits must be at most ${most} on this store`;
  throw rangeError("create rateLimit", rule, group.length);
}
