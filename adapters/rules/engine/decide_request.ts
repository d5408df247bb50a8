/*
 * From a request to its verdict: find the rules of its descriptors, find the limits of each rule,
 * and ask them.
 */

import type { Decision } from "../../../core/decision.ts";
import { allOf, andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import {
  type Domain,
  matchRules,
  NO_RULE_VERDICT,
  type RuleVerdict,
  type Verdict,
  verdictOf,
} from "../../../core/rules/rules.ts";
import type { Taken } from "../../../core/together/taken.ts";
import { block, isBlockable, unblock } from "../../../core/verbs/block.ts";
import type { BoundLimit, RuleStore } from "./bound_limits.ts";
import type { BoundRules, RuleInForce } from "./bound_rules.ts";
import { askRules, type VerdictAnswer } from "./ask_rules.ts";
import type { KeyLimitsCache } from "./key_limits.ts";
import { checkRuleRequest, type RuleRequest } from "./rule_request.ts";
import { RULE_WAYS, type RuleAction, type RuleWay } from "./rule_ways.ts";

/** The parts by which an engine decides. */
export interface RuleDecider {
  readonly on: RuleStore;
  /** The individual limits of keys; `undefined` if there are none. */
  readonly keys: KeyLimitsCache | undefined;
  /** Whether nothing is refused. */
  readonly shadow: boolean;
  /** The rules that hold now. */
  bound: BoundRules;
}

/** A limit of one of the rules of a request, at the cost of the rule. */
export interface RuleCounter extends RuleInForce {
  readonly counter: BoundLimit;
}

/** Decides a request, and takes its units or gives them back. */
export function decideRequest(
  decider: RuleDecider,
  request: RuleRequest,
  action: RuleAction,
): VerdictAnswer {
  checkRuleRequest(request);
  const charges = action === "consume" && request.charge === true;
  const verdict = verdictOn(decider, request, RULE_WAYS[charges ? "charge" : action]);
  const refuses = request.refuseDebt === true && action !== "refund";
  return refuses ? andThen(verdict, refusingDebt) : verdict;
}

/**
 * Decides a request by the rules that hold now.
 *
 * @param taken Receives what the request takes, if that may have to be given back.
 */
export function verdictOn(
  decider: RuleDecider,
  request: RuleRequest,
  way: RuleWay,
  taken?: Taken[],
): VerdictAnswer {
  const { on, bound } = decider;
  const domain = bound.set.domains.get(request.domain);
  if (domain === undefined) return NO_RULE_VERDICT;
  const rules = rulesOf(decider, domain, request);
  // A function that makes a closure pays for it at every call.
  return Array.isArray(rules)
    ? askRules(on, domain.charge, way, taken, rules)
    : (rules as PromiseLike<readonly RuleInForce[]>)
      .then(askRules.bind(undefined, on, domain.charge, way, taken));
}

/** The counters of a request, whatever they decide. */
export async function countersOf(
  decider: RuleDecider,
  request: RuleRequest,
): Promise<readonly RuleCounter[]> {
  const domain = decider.bound.set.domains.get(request.domain);
  const rules = domain === undefined ? [] : await rulesOf(decider, domain, request);
  return rules.flatMap((rule) => rule.bound.limits.map((counter) => ({ ...rule, counter })));
}

/** The rules of a domain that are in force for a request; at once if nothing is looked up. */
function rulesOf(
  { bound, keys }: RuleDecider,
  domain: Domain,
  { descriptors, cost = 1 }: RuleRequest,
): MaybePromise<readonly RuleInForce[]> {
  const rules = matchRules(domain, descriptors, cost, bound.boundOf);
  return keys === undefined ? rules : withLookups(keys, domain, rules);
}

/** The rules of a request, of which some have limits that belong to their keys. */
function withLookups(
  keys: KeyLimitsCache,
  domain: Domain,
  rules: readonly RuleInForce[],
): MaybePromise<readonly RuleInForce[]> {
  return allOf(rules.map((each) => {
    const { rule, key, limit, bound } = each;
    if (limit !== undefined || rule.lookup === undefined) return each;
    const found = keys.limitsOf(domain, rule, key, bound.limits);
    return andThen(found, (known) => known === undefined ? each : { ...each, bound: known });
  }));
}

/** Forgets the counters of a request; answers how many. */
export async function resetRequest(decider: RuleDecider, request: RuleRequest): Promise<number> {
  checkRuleRequest(request);
  const counters = await countersOf(decider, request);
  await Promise.all(counters.map(({ key, counter }) => counter.family.delete(key)));
  return counters.length;
}

/**
 * Blocks the counters of a request for a time, or ends their blocks, in every limit of its rules
 * that is blockable; answers how many.
 *
 * @param duration Whole milliseconds; 0 ends blocks.
 */
export async function blockRequest(
  decider: RuleDecider,
  request: RuleRequest,
  duration: number,
): Promise<number> {
  checkRuleRequest(request);
  const verb = duration === 0 ? unblock : block;
  const counters = await countersOf(decider, request);
  const blocked = counters.filter(({ counter }) => isBlockable(counter.algorithm));
  await Promise.all(blocked.map(({ key, counter }) => counter.call(verb, key, duration)));
  return blocked.length;
}

/**
 * A verdict that refuses if a key is in debt, as Envoy's service does. This concerns looks at such
 * a key, and the charge that brought it into debt. `retryAfter` counts until the debt has drained.
 */
function refusingDebt(verdict: Verdict): Verdict {
  const { rules } = verdict;
  return rules.some(({ decision }) => isInDebt(decision))
    ? verdictOf(rules.map(refusedInDebt))
    : verdict;
}

function refusedInDebt(verdict: RuleVerdict): RuleVerdict {
  const { rule, decision } = verdict;
  if (!isInDebt(decision)) return verdict;
  return { ...verdict, decision: refused(decision), allowed: rule.shadow };
}

function refused(decision: Decision): Decision {
  const parts = decision.parts?.map((part) => isInDebt(part) ? refused(part) : part);
  return { ...decision, allowed: false, retryAfter: decision.nextAfter, parts };
}

function isInDebt(decision: Decision | undefined): decision is Decision {
  return decision !== undefined && decision.allowed && decision.debt > 0;
}
