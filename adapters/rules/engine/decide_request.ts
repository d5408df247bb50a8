/*
 * A request's way to its verdict: find the rules of its descriptors, find what decides for each, and
 * charge them. Most requests meet one rule with one limit, and skip the lists.
 */

import { allOf, andThen, isPromise, type MaybePromise } from "../../../core/maybe_promise.ts";
import {
  type AppliedRule,
  type Descriptor,
  type Domain,
  matchDescriptor,
  matchRules,
  NO_RULE_VERDICT,
  type Verdict,
} from "../../../core/rules/rules.ts";
import { boundRule, type BoundRules, storedKeys } from "./bound_rules.ts";
import {
  type Charge,
  type ChargeAction,
  chargePrepared,
  chargeRules,
  overriding,
} from "./charge_rules.ts";
import { type KeyLimitsCache, limitsOfKey } from "./key_limits.ts";
import { refusingDebt } from "./refuse_debt.ts";
import { checkRuleRequest, type RuleRequest } from "./rule_request.ts";
import type { RuleStore } from "./rule_store.ts";

/** The places of the descriptors of a request that has one. */
const FIRST: readonly number[] = Object.freeze([0]);

/** What an engine decides by. */
export interface RuleDecider {
  readonly on: RuleStore;
  /** The limits of keys of their own; `undefined` if there are none. */
  readonly keys: KeyLimitsCache | undefined;
  /** The rules that hold now. */
  bound: BoundRules;
}

/** Decides a request, and takes its units or gives them back. */
export function decideRequest(
  decider: RuleDecider,
  request: RuleRequest,
  action: ChargeAction,
): MaybePromise<Verdict> {
  checkRuleRequest(request);
  const charges = action === "consume" && request.charge === true;
  const verdict = verdictOn(decider, request, charges ? "charge" : action);
  const refuses = request.refuseDebt === true && action !== "refund";
  return refuses ? andThen(verdict, refusingDebt) : verdict;
}

function verdictOn(
  decider: RuleDecider,
  request: RuleRequest,
  action: ChargeAction,
): MaybePromise<Verdict> {
  const { on, bound } = decider;
  const { descriptors, cost = 1 } = request;
  const domain = bound.set.domains.get(request.domain);
  if (domain === undefined) return NO_RULE_VERDICT;
  if (descriptors.length === 1) {
    const verdict = decideOne(decider, domain, descriptors[0]!, cost, action);
    if (verdict !== undefined) return verdict;
  }
  const applied = matchRules(domain, descriptors, cost);
  if (applied.length === 0) return NO_RULE_VERDICT;
  const charges = chargesOf(decider, domain, applied);
  return isPromise(charges)
    ? charges.then((known) => chargeRules(on, domain.charge, known, action))
    : chargeRules(on, domain.charge, charges, action);
}

/** Forgets the counters of a request; answers how many. */
export function resetRequest(decider: RuleDecider, request: RuleRequest): MaybePromise<number> {
  const { on, bound } = decider;
  checkRuleRequest(request);
  const domain = bound.set.domains.get(request.domain);
  if (domain === undefined) return 0;
  const applied = matchRules(domain, request.descriptors, 0);
  return andThen(chargesOf(decider, domain, applied), (charges) => {
    const counters = charges.flatMap(({ applied, verdict }) =>
      verdict.limits.map((limit) => storedKeys(on, domain.name, limit, applied.key))
    );
    const deleted = counters.flat().map((key) => on.store.delete(key));
    return andThen(allOf<void>(deleted), () => counters.length);
  });
}

/**
 * The common request: one descriptor, one rule, one limit, by the store's prepared call;
 * `undefined` if the request is another.
 */
function decideOne(
  { on, bound, keys }: RuleDecider,
  domain: Domain,
  { entries, cost: own, limit: override }: Descriptor,
  cost: number,
  action: ChargeAction,
): MaybePromise<Verdict> | undefined {
  if (override !== undefined) return undefined;
  const match = matchDescriptor(domain, entries);
  if (match === undefined) return NO_RULE_VERDICT;
  const { rule, key } = match;
  if (rule.lookup !== undefined && keys !== undefined) return undefined;
  const verdict = boundRule(on, bound, rule);
  const applied = { rule, key, cost: own ?? cost, descriptors: FIRST, limit: undefined };
  return chargePrepared(on, { applied, verdict }, action);
}

/** What decides for each rule: its limits, those of its key, or those of the descriptor. */
function chargesOf(
  { on, bound, keys }: RuleDecider,
  domain: Domain,
  all: readonly AppliedRule[],
): MaybePromise<readonly Charge[]> {
  return allOf(all.map((applied): MaybePromise<Charge> => {
    if (applied.limit !== undefined) return { applied, verdict: overriding(applied.limit) };
    const { rule, key } = applied;
    const own = boundRule(on, bound, rule);
    if (keys === undefined || rule.lookup === undefined) return { applied, verdict: own };
    return andThen(
      limitsOfKey(keys, domain, rule, key, own.limits),
      (known): Charge => ({ applied, verdict: known ?? own }),
    );
  }));
}
