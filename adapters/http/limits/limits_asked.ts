/*
 * A request, and its calls on its limits.
 */

import type { Decision } from "../../../core/decision.ts";
import { combineDecisions } from "../../../core/algorithms/combine_decisions.ts";
import type { LimiterInternals } from "../../../core/limiter/limiter_internals.ts";
import type { Ask } from "../../../core/together/ask.ts";
import type { Asked, Decided } from "../gate/decider.ts";
import type { Refusal } from "../gate/refusal.ts";
import type { LimitPlan } from "./limit_plan.ts";

/** The call of a request on one limit. It is also what a store is asked if limits do not differ. */
export interface LimitCall extends Ask<LimiterInternals> {
  /** The units. */
  readonly argument: number;
}

/** The calls of a request of which none is read. */
export const NO_CALLS: readonly LimitCall[] = [];

/** A request, and its calls. Its readers add them one after another; the plan follows when all are read. */
export interface LimitsAsked extends Asked {
  refusal: Refusal | undefined;
  delays: boolean;
  plan: LimitPlan;
  /** The calls, in the order of the limits; no key twice. */
  calls: readonly LimitCall[];
}

/**
 * The decision of all limits together.
 *
 * @param decisions The decision of each limit, in order. After a refusal, those of the others are looks.
 */
export function decidedBy(
  { plan: { policies, capacity, simple }, calls }: LimitsAsked,
  decisions: readonly Decision[],
  giveBack: Decided["giveBack"],
  release: Decided["release"],
): Decided {
  const isSeveral = decisions.length > 1;
  const decision = isSeveral ? combineDecisions(decisions, capacity) : decisions[0]!;
  const lefts = simple && decision.source === undefined
    ? decisions
    : flatDecisions(calls, decisions);
  const { key, counter: { clock } } =
    calls[isSeveral && !decision.allowed ? firstRefusal(decisions) : 0]!;
  return { decision, key, policies, lefts, refusal: undefined, clock, giveBack, release };
}

function firstRefusal(decisions: readonly Decision[]): number {
  return decisions.findIndex(({ allowed }) => !allowed);
}

/**
 * The decision of each policy, in the order of the policies, with nested `all` flattened.
 * `undefined` stands for an answer of the failure policy, which says nothing about the limit.
 */
function flatDecisions(
  calls: readonly LimitCall[],
  decisions: readonly Decision[],
): readonly (Decision | undefined)[] {
  return decisions.flatMap((decision, index) =>
    flatParts(decision, calls[index]!.counter.algorithm.policies.length)
  );
}

function flatParts(decision: Decision, policies: number): readonly (Decision | undefined)[] {
  if (decision.source === "policy") return new Array<undefined>(policies).fill(undefined);
  if (decision.parts === undefined) return [decision];
  return decision.parts.flatMap((part) => flatParts(part, 1));
}
