/*
 * From a request to its verdict: find the rules of its descriptors, find the limits of each rule,
 * and ask them.
 */

import type { Decision } from "../../../core/decision.ts";
import { allOf, andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import {
  type AppliedRule,
  type Domain,
  matchRule,
  matchRules,
  NO_RULE_VERDICT,
  type RuleVerdict,
  type Verdict,
  verdictOf,
} from "../../../core/rules/rules.ts";
import type { Taken } from "../../../core/together/taken.ts";
import { block, isBlockable, unblock } from "../../../core/verbs/block.ts";
import type { BoundVerdict, RuleStore } from "./bound_limits.ts";
import { boundRule, type BoundRules } from "./bound_rules.ts";
import { askOne, askRules, overriding, type RuleInForce } from "./ask_rules.ts";
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

/** Decides a request, and takes its units or gives them back. */
export function decideRequest(
  decider: RuleDecider,
  request: RuleRequest,
  action: RuleAction,
): MaybePromise<Verdict> {
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
  { domain: name, descriptors, cost = 1 }: RuleRequest,
  way: RuleWay,
  taken?: Taken[],
): MaybePromise<Verdict> {
  const { on, bound } = decider;
  const domain = bound.set.domains.get(name);
  if (domain === undefined) return NO_RULE_VERDICT;
  if (descriptors.length > 1) {
    return askAll(decider, domain, matchRules(domain, descriptors, cost), way, taken);
  }
  const applied = matchRule(domain, descriptors[0]!, 0, cost);
  if (applied === undefined) return NO_RULE_VERDICT;
  const { rule, limit } = applied;
  const isOwn = limit === undefined && (rule.lookup === undefined || decider.keys === undefined);
  const verdict = isOwn ? askOne(on, applied, boundRule(on, bound, rule), way) : undefined;
  return verdict ?? askAll(decider, domain, [applied], way, taken);
}

function askAll(
  decider: RuleDecider,
  domain: Domain,
  applied: readonly AppliedRule[],
  way: RuleWay,
  taken: Taken[] | undefined,
): MaybePromise<Verdict> {
  if (applied.length === 0) return NO_RULE_VERDICT;
  const rules = rulesInForce(decider, domain, applied);
  return Array.isArray(rules)
    ? askRules(decider.on, domain.charge, rules, way, taken)
    : askLater(decider, domain, rules as Promise<readonly RuleInForce[]>, way, taken);
}

async function askLater(
  { on }: RuleDecider,
  { charge }: Domain,
  rules: Promise<readonly RuleInForce[]>,
  way: RuleWay,
  taken: Taken[] | undefined,
): Promise<Verdict> {
  return await askRules(on, charge, await rules, way, taken);
}

/** The rules in force for a request, whose limits are asked for no units. */
export async function rulesOf(
  decider: RuleDecider,
  { domain: name, descriptors }: RuleRequest,
  cost: number = 0,
): Promise<readonly RuleInForce[]> {
  const domain = decider.bound.set.domains.get(name);
  if (domain === undefined) return [];
  return await rulesInForce(decider, domain, matchRules(domain, descriptors, cost));
}

/** Forgets the counters of a request; answers how many. */
export async function resetRequest(decider: RuleDecider, request: RuleRequest): Promise<number> {
  checkRuleRequest(request);
  const deleted = (await rulesOf(decider, request)).flatMap(({ applied, verdict }) =>
    verdict.limits.map(({ family }) => family.delete(applied.key))
  );
  await Promise.all(deleted);
  return deleted.length;
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
  const blocked = (await rulesOf(decider, request)).flatMap(({ applied, verdict }) =>
    verdict.limits.filter(({ algorithm }) => isBlockable(algorithm))
      .map((limit) => limit.call(verb, applied.key, duration))
  );
  await Promise.all(blocked);
  return blocked.length;
}

/** The limits that decide for each rule. */
function rulesInForce(
  decider: RuleDecider,
  domain: Domain,
  all: readonly AppliedRule[],
): MaybePromise<readonly RuleInForce[]> {
  const rules: MaybePromise<RuleInForce>[] = [];
  for (const applied of all) rules.push(ruleInForce(decider, domain, applied));
  // Only limits of keys are looked up.
  return decider.keys === undefined ? rules as readonly RuleInForce[] : allOf(rules);
}

/** The limits that decide for a rule: its own, those of its key, or those of the descriptor. */
function ruleInForce(
  { on, bound, keys }: RuleDecider,
  domain: Domain,
  applied: AppliedRule,
): MaybePromise<RuleInForce> {
  const { rule, key, limit } = applied;
  if (limit !== undefined) return { applied, verdict: overriding(on, domain.name, limit) };
  const own = boundRule(on, bound, rule);
  return keys === undefined || rule.lookup === undefined
    ? { applied, verdict: own }
    : lookedUp(applied, own, keys.limitsOf(domain, rule, key, own.limits));
}

function lookedUp(
  applied: AppliedRule,
  own: BoundVerdict,
  found: MaybePromise<BoundVerdict | undefined>,
): MaybePromise<RuleInForce> {
  return andThen(found, (known) => ({ applied, verdict: known ?? own }));
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
