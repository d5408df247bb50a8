/*
 * From a request to its verdict: find the rules of its descriptors, find the limits of each rule,
 * and ask them.
 */

import type { Decision } from "../../../core/decision.ts";
import { allOf, andThen, isPromise, type MaybePromise } from "../../../core/maybe_promise.ts";
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
import { block, isBlockable, unblock } from "../../../core/verbs/block.ts";
import type { RuleStore } from "./bound_limits.ts";
import { boundRule, type BoundRules } from "./bound_rules.ts";
import { askOne, askRules, overriding, type RuleInForce } from "./ask_rules.ts";
import type { KeyLimitsCache } from "./key_limits.ts";
import { checkRuleRequest, type RuleRequest } from "./rule_request.ts";
import type { Taking } from "./taking.ts";
import { type RuleAction, TAKINGS } from "./takings.ts";

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
  const verdict = verdictOn(decider, request, TAKINGS[charges ? "charge" : action]);
  const refuses = request.refuseDebt === true && action !== "refund";
  return refuses ? andThen(verdict, refusingDebt) : verdict;
}

/** Decides a request by the rules that hold now. */
export function verdictOn(
  decider: RuleDecider,
  { domain: name, descriptors, cost = 1 }: RuleRequest,
  taking: Taking,
): MaybePromise<Verdict> {
  const { on, bound } = decider;
  const domain = bound.set.domains.get(name);
  if (domain === undefined) return NO_RULE_VERDICT;
  if (descriptors.length > 1) {
    return askAll(decider, domain, matchRules(domain, descriptors, cost), taking);
  }
  const applied = matchRule(domain, descriptors[0]!, 0, cost);
  if (applied === undefined) return NO_RULE_VERDICT;
  const { rule, limit } = applied;
  const isOwn = limit === undefined && (rule.lookup === undefined || decider.keys === undefined);
  const verdict = isOwn ? askOne(on, applied, boundRule(on, bound, rule), taking) : undefined;
  return verdict ?? askAll(decider, domain, [applied], taking);
}

function askAll(
  decider: RuleDecider,
  domain: Domain,
  applied: readonly AppliedRule[],
  taking: Taking,
): MaybePromise<Verdict> {
  if (applied.length === 0) return NO_RULE_VERDICT;
  const rules = rulesInForce(decider, domain, applied);
  return isPromise(rules)
    ? rules.then((known) => askRules(decider.on, domain.charge, known, taking))
    : askRules(decider.on, domain.charge, rules, taking);
}

/** Forgets the counters of a request; answers how many. */
export function resetRequest(decider: RuleDecider, request: RuleRequest): MaybePromise<number> {
  const { bound } = decider;
  checkRuleRequest(request);
  const domain = bound.set.domains.get(request.domain);
  if (domain === undefined) return 0;
  const applied = matchRules(domain, request.descriptors, 0);
  return andThen(rulesInForce(decider, domain, applied), (rules) => {
    const deleted = rules.flatMap(({ applied, verdict }) =>
      verdict.limits.map((limit) => limit.family().delete(applied.key))
    );
    return andThen(allOf<void>(deleted), () => deleted.length);
  });
}

/**
 * Blocks the counters of a request for a time, or ends their blocks, in every limit of its rules
 * that is blockable; answers how many.
 *
 * @param duration Whole milliseconds; 0 ends blocks.
 */
export function blockRequest(
  decider: RuleDecider,
  request: RuleRequest,
  duration: number,
): MaybePromise<number> {
  const { bound, on } = decider;
  checkRuleRequest(request);
  const domain = bound.set.domains.get(request.domain);
  if (domain === undefined) return 0;
  const verb = duration === 0 ? unblock : block;
  const applied = matchRules(domain, request.descriptors, 0);
  return andThen(rulesInForce(decider, domain, applied), (rules) => {
    const blocked = rules.flatMap(({ applied, verdict }) =>
      verdict.limits.filter(({ algorithm }) => isBlockable(algorithm)).map((limit) =>
        limit.family().bind(verb).call(applied.key, duration, on.now())
      )
    );
    return andThen(allOf<Decision>(blocked), () => blocked.length);
  });
}

/** The limits that decide for each rule. */
export function rulesInForce(
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
  if (keys === undefined || rule.lookup === undefined) return { applied, verdict: own };
  return andThen(
    keys.limitsOf(domain, rule, key, own.limits),
    (known) => ({ applied, verdict: known ?? own }),
  );
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
