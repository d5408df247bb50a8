/*
 * Asks the rules in force for a request, to take units or to look: each rule by itself, or all or
 * none of them.
 *
 * Rules in quota mode refuse only if all of them refuse, so they cannot be charged all or none: see
 * `askQuotas`. Shadows are asked last and separately. Most requests meet one rule with one limit,
 * which is a single call on the store.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { combineDecisions } from "../../../core/algorithms/combine_decisions.ts";
import type { Decision } from "../../../core/decision.ts";
import { allOf, andThen, isPromise, type MaybePromise } from "../../../core/maybe_promise.ts";
import {
  type AppliedRule,
  blockedDecision,
  type ChargeMode,
  type RuleVerdict,
  type Verdict,
  verdictOf,
} from "../../../core/rules/rules.ts";
import type { Operation } from "../../../core/store.ts";
import { bindLimit, type BoundVerdict, boundVerdict, type RuleStore } from "./bound_limits.ts";
import { permitsNeeded, tooManyLimits } from "./rule_request.ts";
import type { CounterUnits, KeptTaking, Taking } from "./taking.ts";
import { TAKINGS } from "./takings.ts";

/** A rule in force for a request, and its limits on the store. */
export interface RuleInForce {
  readonly applied: AppliedRule;
  readonly verdict: BoundVerdict;
}

type Verdicts = MaybePromise<readonly RuleVerdict[]>;

/** Asks the rules in force for a request: each by itself, or all or none. */
export function askRules(
  on: RuleStore,
  mode: ChargeMode,
  rules: readonly RuleInForce[],
  taking: Taking,
): MaybePromise<Verdict> {
  requireNoPermits(rules, taking);
  if (rules.length === 1) {
    const { applied, verdict: bound } = rules[0]!;
    const verdict = askOne(on, applied, bound, taking);
    if (verdict !== undefined) return verdict;
  }
  if (mode === "each") return andThen(askEach(on, rules, taking), verdictOf);
  if (areAllAlike(rules)) return andThen(askTogether(on, rules, taking), verdictOf);
  const shadowed = rules.some(({ applied }) => applied.rule.shadow);
  const enforced = shadowed ? rules.filter(({ applied }) => !applied.rule.shadow) : rules;
  return andThen(askEnforced(on, enforced, taking), (verdicts) => {
    if (!shadowed) return verdictOf(verdicts);
    // Shadows report the decision that they would have made, and then take units.
    const shadowTaking = verdictOf(verdicts).allowed ? taking : TAKINGS.peek;
    const shadows = rules.filter(({ applied }) => applied.rule.shadow);
    return andThen(
      askEach(on, shadows, shadowTaking),
      (more) => verdictOf(inOrder(rules, [...verdicts, ...more])),
    );
  });
}

/** Whether all rules are enforced and have limits, which is the usual case. */
function areAllAlike(rules: readonly RuleInForce[]): boolean {
  for (const { applied: { rule }, verdict } of rules) {
    if (rule.shadow || rule.quota || verdict.kind === "blocked") return false;
  }
  return true;
}

/**
 * Asks one rule with one limit by a single call on the store; `undefined` for other rules and for
 * permits.
 */
export function askOne(
  on: RuleStore,
  applied: AppliedRule,
  verdict: BoundVerdict,
  { verb }: Taking,
): MaybePromise<Verdict> | undefined {
  if (verb === undefined || verdict.limits.length !== 1 || verdict.permits) return undefined;
  const bound = verdict.limits[0]!.family().bind(verb);
  const answer = bound.call(applied.key, applied.cost, on.now());
  return isPromise(answer)
    ? answer.then((decision) => verdictOf([ruleVerdictOf(applied, verdict, decision)]))
    : verdictOf([ruleVerdictOf(applied, verdict, answer)]);
}

/** A limit that came with its descriptor. */
export function overriding(
  on: RuleStore,
  domain: string,
  limit: Algorithm | "blocked",
): BoundVerdict {
  if (limit === "blocked") return boundVerdict(limit, []);
  return boundVerdict("limited", [bindLimit(on, domain, limit, [])]);
}

/** Asks enforced rules, all or none. If there are several quotas, at least one must admit. */
function askEnforced(
  on: RuleStore,
  rules: readonly RuleInForce[],
  taking: Taking,
): Verdicts {
  if (taking.kept === undefined) return askTogether(on, rules, taking);
  let [quotas, isBlocked, isQuotaBlocked] = [0, false, false];
  for (const { applied, verdict } of rules) {
    const { cost, rule } = applied;
    if (rule.quota) quotas++;
    if (verdict.kind !== "blocked" || cost <= 0) continue;
    if (rule.quota) isQuotaBlocked = true;
    else isBlocked = true;
  }
  // A single quota refuses like any other rule.
  const refuses = isBlocked || (quotas === 1 && isQuotaBlocked);
  if (refuses || quotas < 2) return askTogether(on, rules, refuses ? TAKINGS.peek : taking);
  const isQuota = ({ applied }: RuleInForce) => applied.rule.quota;
  return andThen(
    askQuotas(
      on,
      rules.filter((rule) => !isQuota(rule)),
      rules.filter(isQuota),
      taking.kept(),
    ),
    (verdicts) => inOrder(rules, verdicts),
  );
}

/**
 * Quotas refuse only if all of them refuse, so each quota is asked by itself. The other rules are
 * charged all or none, and only if at least one quota admits. They are looked at first. If they
 * nevertheless refuse after a quota was charged, the quota gets its units back.
 */
function askQuotas(
  on: RuleStore,
  others: readonly RuleInForce[],
  quotas: readonly RuleInForce[],
  taking: KeptTaking,
): Verdicts {
  const isAllowed = ({ allowed }: RuleVerdict) => allowed;
  return andThen(askTogether(on, others, TAKINGS.peek), (looked) => {
    const free = looked.every(isAllowed);
    return andThen(askEach(on, quotas, free ? taking : TAKINGS.peek), (verdicts): Verdicts => {
      if (!free || !verdicts.some(isAllowed)) return [...looked, ...verdicts];
      return andThen(askTogether(on, others, taking), (taken): Verdicts => {
        const all = [...taken, ...verdicts];
        if (taken.every(isAllowed)) return all;
        const charged = quotas.filter((_, index) => verdicts[index]!.allowed);
        return andThen(askEach(on, charged, taking.undo), () => all);
      });
    });
  });
}

/** Asks the limits of several rules, each rule by itself. */
function askEach(
  on: RuleStore,
  rules: readonly RuleInForce[],
  taking: Taking,
): Verdicts {
  const verdicts = rules.map((each) => askTogether(on, [each], taking));
  return andThen(allOf(verdicts), (all) => all.flat());
}

/** Asks the limits of several rules, all or none. */
function askTogether(
  on: RuleStore,
  rules: readonly RuleInForce[],
  taking: Taking,
): Verdicts {
  const counters: CounterUnits[] = [];
  for (const { applied: { key, cost: units }, verdict } of rules) {
    for (const limit of verdict.limits) counters.push({ family: limit.family(), key, units });
  }
  const decisions = counters.length === 0 ? [] : askCounters(on, counters, taking);
  return isPromise(decisions)
    ? decisions.then((all) => verdictsOf(rules, all))
    : verdictsOf(rules, decisions);
}

/** The verdict of each rule, made from the decisions of all limits in order. */
function verdictsOf(
  rules: readonly RuleInForce[],
  all: readonly Decision[],
): readonly RuleVerdict[] {
  let next = 0;
  const verdicts: RuleVerdict[] = [];
  for (const { applied, verdict } of rules) {
    const first = next;
    next += verdict.limits.length;
    const decision = next - first > 1
      ? combineDecisions(all.slice(first, next), verdict.capacity)
      : next > first
      ? all[first]
      : undefined;
    verdicts.push(ruleVerdictOf(applied, verdict, decision));
  }
  return verdicts;
}

/**
 * Asks counters, all or none. A counter that is listed twice is asked once, for the sum of its
 * units.
 */
function askCounters(
  { store, now }: RuleStore,
  counters: readonly CounterUnits[],
  taking: Taking,
): MaybePromise<readonly Decision[]> {
  const merged = hasTwins(counters) ? mergeTwins(counters) : undefined;
  const wanted = merged?.wanted ?? counters;
  const { maxOperations: most = Infinity } = store;
  if (wanted.length > most) throw tooManyLimits(most, wanted.length);
  const operations: Operation[] = [];
  for (const counter of wanted) operations.push(taking.operation(counter));
  const answers: MaybePromise<readonly unknown[]> = store.run(operations, now());
  const isPlain = merged === undefined && taking.verb !== undefined;
  if (isPlain && !isPromise(answers)) return answers as readonly Decision[];
  return andThen(answers, (all) => {
    const decisions = taking.decisionOf === undefined
      ? all as readonly Decision[]
      : all.map(taking.decisionOf);
    if (taking.took !== undefined && decisions.every(({ allowed }) => allowed)) {
      taking.took(wanted, all);
    }
    return merged?.places.map((place) => decisions[place]!) ?? decisions;
  });
}

/**
 * The distinct counters, and the index among them of each given counter. Duplicates arise because
 * the limit of a descriptor may be the same as a rule's.
 */
function mergeTwins(counters: readonly CounterUnits[]) {
  const wanted: CounterUnits[] = [];
  const places = counters.map((counter) => {
    const twin = wanted.findIndex((each) => isSameCounter(each, counter));
    if (twin === -1) return wanted.push(counter) - 1;
    wanted[twin] = merged(wanted[twin]!, counter);
    return twin;
  });
  return { wanted, places };
}

/** For up to this many counters, comparing each pair is faster than making text for them. */
const FEW = 8;

function hasTwins(counters: readonly CounterUnits[]): boolean {
  if (counters.length > FEW) {
    const names = new Set(counters.map(({ family, key }) => family.nameOf(key)));
    return names.size < counters.length;
  }
  for (let index = 1; index < counters.length; index++) {
    for (let before = 0; before < index; before++) {
      if (isSameCounter(counters[index]!, counters[before]!)) return true;
    }
  }
  return false;
}

function isSameCounter(one: CounterUnits, other: CounterUnits): boolean {
  if (one.key !== other.key) return false;
  const { prefix, algorithm } = one.family.spec;
  const { prefix: otherPrefix, algorithm: otherAlgorithm } = other.family.spec;
  return prefix === otherPrefix && algorithm.id === otherAlgorithm.id;
}

/** Two entries for one counter as one entry, with the sum of their units. */
function merged(one: CounterUnits, other: CounterUnits): CounterUnits {
  const units = Math.min(one.units + other.units, Number.MAX_SAFE_INTEGER);
  const { older } = one.family.spec;
  return { ...(older.length > 0 ? one : other), units };
}

/** Throws if a call would take permits that it cannot give back. */
function requireNoPermits(rules: readonly RuleInForce[], { onPermits }: Taking): void {
  if (onPermits) return;
  for (const { applied, verdict } of rules) {
    if (verdict.permits) throw permitsNeeded(applied.rule.label);
  }
}

/** Verdicts in the order of their rules. */
function inOrder(
  rules: readonly RuleInForce[],
  verdicts: readonly RuleVerdict[],
): readonly RuleVerdict[] {
  return rules.map(({ applied }) =>
    verdicts.find(({ rule, key }) => rule === applied.rule && key === applied.key)!
  );
}

function ruleVerdictOf(
  { rule, key, cost, descriptors }: AppliedRule,
  { kind, algorithms: limits, capacity }: BoundVerdict,
  decided: Decision | undefined,
): RuleVerdict {
  const decision = kind === "blocked" ? blockedDecision(cost) : decided;
  const allowed = rule.shadow || decision === undefined || decision.allowed;
  return { rule, key, cost, descriptors, decision, limits, capacity, allowed };
}
