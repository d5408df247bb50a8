/*
 * The facts that are worked out once for the limiters that meet in a request. Limiters may be
 * chosen for each request, so plans form a tree: each limiter leads from the plan of those before
 * it to the next.
 */

import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { internalsOf, type LimiterInternals } from "../../../core/limiter/limiter.ts";
import type { PermitDesk } from "../../../core/limiter/permit_desk.ts";
import { rangeError } from "../../../core/options/checks.ts";
import type { BoundVerb } from "../../../core/store.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { reserve, type ReserveArgument, type Reserved } from "../../../core/verbs/reserve.ts";
import { distinctNames } from "../../../core/algorithms/distinct_names.ts";
import {
  headerWriter,
  type HeaderWriterOptions,
  readHeaderForms,
} from "../fields/header_writer.ts";
import type { PolicyPlan } from "../gate/decider.ts";
import { quotaExceeded } from "../gate/refusal.ts";
import type { AnyLimiter } from "./limit_options.ts";

/** A limiter, at its place among those of a request. */
export interface PlannedLimiter {
  readonly limiter: AnyLimiter;
  /** `undefined` of a limiter that was not made by `limiter(...)`. */
  readonly internals: LimiterInternals | undefined;
  /** The verb that takes units of it together with others: it consumes them, or holds a permit. */
  // deno-lint-ignore no-explicit-any
  readonly takes: BoundVerb<any, any> | undefined;
  /** The verb that takes units which may be given back. */
  readonly reserves: BoundVerb<ReserveArgument, Reserved> | undefined;
  /** Asks for the permit of a request; `undefined` of a limiter that has none. */
  readonly ask: PermitDesk["ask"];
  /** Whether its admitted calls may have to wait, and their places can be given back. */
  readonly delays: boolean;
  /** How many policies it has. */
  readonly policies: number;
  readonly place: number;
}

/** Limiters of one store and one clock, which are charged at one instant. */
export type LimiterGroup = readonly PlannedLimiter[];

/** The plan of some limiters. */
export interface LimitPlan {
  readonly limiters: readonly PlannedLimiter[];
  readonly groups: readonly LimiterGroup[];
  readonly delays: boolean;
  /** Whether some of them give permits, which are to be released when the response has ended. */
  readonly holds: boolean;
  /**
   * Whether units may be given back: when the request has ended, or where a limit of another store
   * refuses. Only then are they taken with receipts.
   */
  readonly keeps: boolean;
  /** The largest cost that all of them admit. */
  readonly capacity: number;
  readonly policies: PolicyPlan;
  /** Whether all of them are charged by one call of their store that answers with decisions. */
  readonly together: boolean;
  /** Whether each of them has a single policy. */
  readonly simple: boolean;
  /** The limiter that leads here. */
  readonly last: PlannedLimiter | undefined;
  /** The plan that came next the last time. */
  recent: LimitPlan | undefined;
  readonly nexts: WeakMap<AnyLimiter, LimitPlan>;
}

/** Finds the plan of one limiter more. */
export type NextPlan = (plan: LimitPlan, limiter: AnyLimiter) => LimitPlan;

/** The options on which plans depend. */
export interface PlanOptions extends HeaderWriterOptions {
  /** Whether requests may get their units back at the end. */
  readonly refunds?: boolean;
}

/** The plan of no limiter. */
export function emptyPlan(options: PlanOptions): LimitPlan {
  return planOf([], options);
}

/**
 * Makes the function that finds plans.
 *
 * @returns A function that throws a `RangeError` if a policy cannot stand in header fields, such as a
 * name with a line break, or the store cannot charge as many limits at once.
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
  const reserves = ask === undefined ? internals?.bind(reserve) : undefined;
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
    // Most limiters refuse by decisions with this text alone; JSON takes a fifth of the time of refusing.
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
