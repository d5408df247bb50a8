/*
 * From a request to its verdict: find the rules of its descriptors, find the limits of each rule,
 * and ask them.
 */

import type { Decision } from "../../../core/decision.ts";
import { allOf, andThen } from "../../../core/maybe_promise.ts";
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
import type { RuleStore } from "./bound_limits.ts";
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
  { domain: name, descriptors, cost = 1 }: RuleRequest,
  way: RuleWay,
  taken?: Taken[],
): VerdictAnswer {
  const { on, bound, keys } = decider;
  const domain = bound.set.domains.get(name);
  if (domain === undefined) return NO_RULE_VERDICT;
  const rules = matchRules(domain, descriptors, cost, bound.boundOf);
  if (keys === undefined) return askRules(on, domain.charge, rules, way, taken);
  const inForce = withLookups(keys, domain, rules);
  return Array.isArray(inForce)
    ? askRules(on, domain.charge, inForce, way, taken)
    : askLater(on, domain, inForce as PromiseLike<readonly RuleInForce[]>, way, taken);
}

async function askLater(
  on: RuleStore,
  { charge }: Domain,
  inForce: PromiseLike<readonly RuleInForce[]>,
  way: RuleWay,
  taken: Taken[] | undefined,
): Promise<Verdict> {
  return await askRules(on, charge, await inForce, way, taken);
}

/** The rules in force for a request, whose limits are asked for no units. */
export async function rulesOf(
  { bound, keys }: RuleDecider,
  { domain: name, descriptors }: RuleRequest,
  cost: number = 0,
): Promise<readonly RuleInForce[]> {
  const domain = bound.set.domains.get(name);
  if (domain === undefined) return [];
  const rules = matchRules(domain, descriptors, cost, bound.boundOf);
  return keys === undefined ? rules : await withLookups(keys, domain, rules);
}

/** The rules of a request, of which some have limits that belong to their keys. */
function withLookups(
  keys: KeyLimitsCache,
  domain: Domain,
  rules: readonly RuleInForce[],
): readonly RuleInForce[] | PromiseLike<readonly RuleInForce[]> {
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
  const deleted = (await rulesOf(decider, request)).flatMap(({ key, bound }) =>
    bound.limits.map(({ family }) => family.delete(key))
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
  const blocked = (await rulesOf(decider, request)).flatMap(({ key, bound }) =>
    bound.limits.filter(({ algorithm }) => isBlockable(algorithm))
      .map((limit) => limit.call(verb, key, duration))
  );
  await Promise.all(blocked);
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
