/*
 * Asks the rules in force for a request, to take units or to look: each rule by itself, or all or
 * none of them.
 *
 * Most requests are one call of the store. Others are several, one after another: rules in quota mode
 * refuse only if all of them refuse, so each is asked by itself; shadows are asked last, and separately.
 * If one of these calls fails, what the others took goes back.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { combineDecisions } from "../../../core/algorithms/combine_decisions.ts";
import type { Decision } from "../../../core/decision.ts";
import { allOf, andThen, type MaybePromise, orElse } from "../../../core/maybe_promise.ts";
import {
  type AppliedRule,
  blockedDecision,
  type ChargeMode,
  type RuleVerdict,
  type Verdict,
  verdictOf,
} from "../../../core/rules/rules.ts";
import { type Ask, type AskFor, askToLook, decisionIn } from "../../../core/together/ask.ts";
import { mergedTwins } from "../../../core/together/merged_twins.ts";
import { takeAll } from "../../../core/together/take_all.ts";
import { giveBack, orGiveBack, type Taken, takenBy } from "../../../core/together/taken.ts";
import {
  bindLimit,
  type BoundLimit,
  type BoundVerdict,
  boundVerdict,
  type RuleStore,
} from "./bound_limits.ts";
import type { RuleWay } from "./rule_ways.ts";
import { permitsNeeded, tooManyLimits } from "./rule_request.ts";

/** A rule in force for a request, and its limits on the store. */
export interface RuleInForce {
  readonly applied: AppliedRule;
  readonly verdict: BoundVerdict;
}

type Verdicts = MaybePromise<readonly RuleVerdict[]>;

/** A request that may ask the store several times. */
interface Asking {
  readonly on: RuleStore;
  readonly askFor: AskFor;
  /** The units and permits that the request has taken so far; `undefined` if none go back. */
  readonly taken: Taken[] | undefined;
}

/**
 * Asks the rules in force for a request: each by itself, or all or none.
 *
 * @param taken Receives what the request takes, if that may have to be given back.
 */
export function askRules(
  on: RuleStore,
  mode: ChargeMode,
  rules: readonly RuleInForce[],
  way: RuleWay,
  taken: Taken[] | undefined,
): MaybePromise<Verdict> {
  requireNoPermits(rules, way);
  const isPlain = taken === undefined && way.verb !== undefined;
  if (isPlain && rules.length === 1) {
    const { applied, verdict: bound } = rules[0]!;
    const verdict = askOne(on, applied, bound, way);
    if (verdict !== undefined) return verdict;
  }
  const isOneCall = mode !== "each" && areAllAlike(rules);
  // A store of several parts may have to give back what one part took.
  if (isPlain && isOneCall && on.store.slotOf === undefined) {
    const verdicts = askTogether({ on, askFor: way.plainly, taken: undefined }, rules);
    return Array.isArray(verdicts)
      ? verdictOf(verdicts)
      : (verdicts as PromiseLike<readonly RuleVerdict[]>).then(verdictOf);
  }
  const given = taken ?? [];
  const asking: Asking = { on, askFor: way.askFor(), taken: given };
  const verdicts = orGiveBack(
    given,
    () =>
      isOneCall
        ? askTogether(asking, rules)
        : mode === "each"
        ? askEach(asking, rules)
        : askByKind(asking, rules, way),
  );
  return andThen(verdicts, verdictOf);
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
  { verb }: RuleWay,
): MaybePromise<Verdict> | undefined {
  if (verb === undefined || verdict.limits.length !== 1 || verdict.permits) return undefined;
  const bound = verdict.limits[0]!.family.bind(verb);
  const answer = bound.call(applied.key, applied.cost, on.now());
  // A decision has no `then`, and looking for one costs more.
  return (answer as Decision).allowed === undefined
    ? verdictOfOne(applied, verdict, answer as Promise<Decision>)
    : verdictOf([ruleVerdictOf(applied, verdict, answer as Decision)]);
}

async function verdictOfOne(
  applied: AppliedRule,
  verdict: BoundVerdict,
  decision: Promise<Decision>,
): Promise<Verdict> {
  return verdictOf([ruleVerdictOf(applied, verdict, await decision)]);
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

/** Asks rules of several kinds: shadows last. They report the decision that they would have made. */
function askByKind(asking: Asking, rules: readonly RuleInForce[], way: RuleWay): Verdicts {
  const shadows = rules.filter(({ applied }) => applied.rule.shadow);
  const enforced = rules.filter(({ applied }) => !applied.rule.shadow);
  return andThen(askEnforced(asking, enforced, way), (verdicts) => {
    const isAdmitted = verdictOf(verdicts).allowed;
    return andThen(
      askEach(isAdmitted ? asking : looking(asking), shadows),
      (more) => inOrder(rules, [...verdicts, ...more]),
    );
  });
}

/** The same rules, looked at. */
function looking(asking: Asking): Asking {
  return { ...asking, askFor: askToLook };
}

/** Asks enforced rules, all or none. If there are several quotas, at least one must admit. */
function askEnforced(asking: Asking, rules: readonly RuleInForce[], way: RuleWay): Verdicts {
  if (!way.refuses) return askTogether(asking, rules);
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
  if (refuses || quotas < 2) return askTogether(refuses ? looking(asking) : asking, rules);
  const isQuota = ({ applied }: RuleInForce) => applied.rule.quota;
  return askQuotas(asking, rules.filter((rule) => !isQuota(rule)), rules.filter(isQuota));
}

/**
 * Quotas refuse only if all of them refuse, so each quota is asked by itself. The other rules are
 * charged all or none, and only if at least one quota admits. They are looked at first. If they
 * nevertheless refuse after a quota was charged, the quota gets its units back.
 */
function askQuotas(
  asking: Asking,
  others: readonly RuleInForce[],
  quotas: readonly RuleInForce[],
): Verdicts {
  const isAllowed = ({ allowed }: RuleVerdict) => allowed;
  return andThen(askTogether(looking(asking), others), (looked) => {
    const isFree = looked.every(isAllowed);
    return andThen(askEach(isFree ? asking : looking(asking), quotas), (verdicts): Verdicts => {
      if (!isFree || !verdicts.some(isAllowed)) return [...looked, ...verdicts];
      return andThen(askTogether(asking, others), (given): Verdicts => {
        const all = [...given, ...verdicts];
        return given.every(isAllowed) ? all : andThen(giveBack(asking.taken!), () => all);
      });
    });
  });
}

/** Asks the limits of several rules, each rule by itself. All calls have ended when it answers. */
function askEach(asking: Asking, rules: readonly RuleInForce[]): Verdicts {
  const failures: unknown[] = [];
  const verdicts = rules.map((rule) =>
    orElse<readonly RuleVerdict[]>(() => askTogether(asking, [rule]), (error) => {
      failures.push(error);
      return [];
    })
  );
  return andThen(allOf(verdicts), (all) => {
    if (failures.length > 0) throw failures[0];
    return all.flat();
  });
}

/**
 * Asks the limits of several rules, all or none. A limit that is listed twice for a key is asked once,
 * for the sum of its units.
 */
function askTogether(asking: Asking, rules: readonly RuleInForce[]): Verdicts {
  const { on: { store, now }, askFor } = asking;
  const asks: Ask<BoundLimit>[] = [];
  for (let index = 0; index < rules.length; index++) {
    const { applied: { key, cost }, verdict: { limits } } = rules[index]!;
    for (let place = 0; place < limits.length; place++) {
      asks.push(askFor(limits[place]!, key, cost));
    }
  }
  if (asks.length === 0) return verdictsOf(rules, []);
  const merged = mergedTwins(asks, ({ counter, key }, units) => askFor(counter, key, units));
  const distinct = merged?.asks ?? asks;
  const { maxOperations: most = Infinity } = store;
  if (distinct.length > most) throw tooManyLimits(most, distinct.length);
  const answers = takeAll(store, distinct, now());
  return Array.isArray(answers)
    ? answeredVerdicts(asking, rules, distinct, merged?.places, answers)
    : verdictsLater(
      asking,
      rules,
      distinct,
      merged?.places,
      answers as Promise<readonly unknown[]>,
    );
}

// A function of its own, because a function that makes a closure pays for it at every call.
async function verdictsLater(
  asking: Asking,
  rules: readonly RuleInForce[],
  asks: readonly Ask[],
  places: readonly number[] | undefined,
  answers: Promise<readonly unknown[]>,
): Promise<readonly RuleVerdict[]> {
  return answeredVerdicts(asking, rules, asks, places, await answers);
}

function answeredVerdicts(
  { taken }: Asking,
  rules: readonly RuleInForce[],
  asks: readonly Ask[],
  places: readonly number[] | undefined,
  answers: readonly unknown[],
): readonly RuleVerdict[] {
  const decisions = asks.map((ask, index) => decisionIn(ask, answers[index]));
  if (taken !== undefined && decisions.every(({ allowed }) => allowed)) {
    asks.forEach((ask, index) => taken.push(takenBy(ask, answers[index])));
  }
  return verdictsOf(rules, places?.map((place) => decisions[place]!) ?? decisions);
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

/** Throws if a call would take permits that it cannot give back. */
function requireNoPermits(rules: readonly RuleInForce[], { onPermits }: RuleWay): void {
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
