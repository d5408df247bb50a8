/*
 * Asks the rules in force for a request, to take units or to look: each rule by itself, or all or
 * none of them.
 *
 * Most requests are one call of the store. A shadow never refuses, and a quota refuses only together
 * with the other quotas. If such a rule refuses, the store has taken nothing, and the other rules are
 * asked again without it.
 */

import { combineDecisions } from "../../../core/algorithms/combine_decisions.ts";
import type { Decision } from "../../../core/decision.ts";
import { allOf, andThen, type MaybePromise, orElse } from "../../../core/maybe_promise.ts";
import {
  blockedDecision,
  type ChargeMode,
  NO_RULE_VERDICT,
  type RuleVerdict,
  type Verdict,
  verdictOf,
} from "../../../core/rules/rules.ts";
import { type Ask, type AskFor, askToLook, decisionsIn } from "../../../core/together/ask.ts";
import { mergedTwins } from "../../../core/together/merged_twins.ts";
import { takeAll } from "../../../core/together/take_all.ts";
import { giveBack, type Taken, takenBy } from "../../../core/together/taken.ts";
import type { BoundLimit, RuleStore } from "./bound_limits.ts";
import type { RuleInForce } from "./bound_rules.ts";
import type { RuleWay } from "./rule_ways.ts";
import { permitsNeeded, reservableNeeded, tooManyLimits } from "./rule_request.ts";

/** A verdict: at once if the store and the lookups answer at once. */
export type VerdictAnswer = MaybePromise<Verdict>;
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
  way: RuleWay,
  taken: Taken[] | undefined,
  rules: readonly RuleInForce[],
): VerdictAnswer {
  if (rules.length === 0) return NO_RULE_VERDICT;
  if (taken === undefined && rules.length === 1) {
    const verdict = askOne(on, rules[0]!, way);
    if (verdict !== undefined) return verdict;
  }
  requireWay(rules, way);
  const isPlain = taken === undefined && way.verb !== undefined;
  // A call may have to give back what another one took, or one part of a store what another part took.
  const isOneCall = isPlain && mode !== "each" && on.store.slotOf === undefined;
  const asking: Asking = {
    on,
    askFor: isOneCall ? way.plainly : way.askFor(),
    taken: isOneCall ? undefined : taken ?? [],
  };
  const verdicts = mode === "each"
    ? askEach(asking, rules)
    : way.refuses && !areAllAlike(rules)
    ? askByKind(asking, rules)
    : askTogether(asking, rules);
  return andThen(verdicts, verdictOf);
}

/** Whether all rules are enforced and have limits, which is the usual case. */
function areAllAlike(rules: readonly RuleInForce[]): boolean {
  return rules.every(({ rule, bound }) => !rule.shadow && !rule.quota && bound.kind !== "blocked");
}

/**
 * Asks one rule with one limit by a single call on the store; `undefined` for other rules and for
 * permits.
 */
function askOne(
  on: RuleStore,
  rule: RuleInForce,
  { verb }: RuleWay,
): VerdictAnswer | undefined {
  const { limits, permits } = rule.bound;
  if (verb === undefined || limits.length !== 1 || permits) return undefined;
  const answer = limits[0]!.family.bind(verb).call(rule.key, rule.cost, on.now());
  // A decision has no `then`, and looking for one costs more.
  return (answer as Decision).allowed === undefined
    ? verdictOfOne(rule, answer as Promise<Decision>)
    : verdictOf([ruleVerdictOf(rule, answer as Decision)]);
}

async function verdictOfOne(rule: RuleInForce, decision: Promise<Decision>): Promise<Verdict> {
  return verdictOf([ruleVerdictOf(rule, await decision)]);
}

/** Asks rules of several kinds, and asks again without those that do not refuse the request. */
function askByKind(asking: Asking, rules: readonly RuleInForce[]): Verdicts {
  const isBlocked = !verdictOf(rules.map((rule) => ruleVerdictOf(rule, undefined))).allowed;
  if (isBlocked) return askTogether({ ...asking, askFor: askToLook }, rules);
  return andThen(askTogether(asking, rules), (verdicts) => {
    const left = rules.filter((_, index) => !isPassedOver(verdicts[index]!));
    const isRefused = !verdictOf(verdicts.filter(({ rule }) => rule.quota)).allowed;
    if (isRefused || left.length === rules.length) return verdicts;
    return andThen(askByKind(asking, left), (given) => {
      const rest = given.values();
      return verdicts.map((each) => isPassedOver(each) ? each : rest.next().value!);
    });
  });
}

/** Whether a limit refuses, of a rule that does not refuse a request by itself. */
function isPassedOver({ rule, decision, limits }: RuleVerdict): boolean {
  return (rule.shadow || rule.quota) && limits.length > 0 && decision?.allowed === false;
}

/**
 * Asks the limits of several rules, each rule by itself. All calls have ended when it answers. If one
 * fails, what the others took goes back.
 */
function askEach(asking: Asking, rules: readonly RuleInForce[]): Verdicts {
  const failures: unknown[] = [];
  const verdicts = rules.map((rule) =>
    orElse<readonly RuleVerdict[]>(() => askTogether(asking, [rule]), (error) => {
      failures.push(error);
      return [];
    })
  );
  return andThen(allOf(verdicts), (all) => {
    if (failures.length === 0) return all.flat();
    return andThen(giveBack(asking.taken!), () => {
      throw failures[0];
    });
  });
}

/**
 * Asks the limits of several rules, all or none. A limit that is listed twice for a key is asked once,
 * for the sum of its units.
 */
function askTogether(asking: Asking, rules: readonly RuleInForce[]): Verdicts {
  const { on: { store, now }, askFor } = asking;
  const asks = asksFor(rules, askFor);
  if (asks.length === 0) return verdictsOf(rules, []);
  const merged = mergedTwins(asks, askFor);
  const distinct = merged?.asks ?? asks;
  const { maxOperations: most = Infinity } = store;
  if (distinct.length > most) throw tooManyLimits(most, distinct.length);
  const answers = takeAll(store, distinct, now());
  // A function that makes a closure pays for it at every call.
  return Array.isArray(answers)
    ? answeredVerdicts(asking, rules, distinct, merged?.places, answers)
    : (answers as Promise<readonly unknown[]>)
      .then(answeredVerdicts.bind(undefined, asking, rules, distinct, merged?.places));
}

/** The asks for all limits of all rules. */
function asksFor(rules: readonly RuleInForce[], askFor: AskFor): readonly Ask<BoundLimit>[] {
  let count = 0;
  for (let index = 0; index < rules.length; index++) count += rules[index]!.bound.limits.length;
  const asks = new Array<Ask<BoundLimit>>(count);
  let next = 0;
  for (let index = 0; index < rules.length; index++) {
    const { key, cost, bound: { limits } } = rules[index]!;
    for (let place = 0; place < limits.length; place++) {
      asks[next++] = askFor(limits[place]!, key, cost);
    }
  }
  return asks;
}

function answeredVerdicts(
  { taken }: Asking,
  rules: readonly RuleInForce[],
  asks: readonly Ask[],
  places: readonly number[] | undefined,
  answers: readonly unknown[],
): readonly RuleVerdict[] {
  // The answers to a single verb are its decisions.
  const decisions = taken === undefined
    ? answers as readonly Decision[]
    : decisionsTaken(asks, answers, taken);
  return verdictsOf(rules, places?.map((place) => decisions[place]!) ?? decisions);
}

/** The decisions in answers, of which the admitted ones have taken. */
function decisionsTaken(
  asks: readonly Ask[],
  answers: readonly unknown[],
  taken: Taken[],
): readonly Decision[] {
  const decisions = decisionsIn(asks, answers);
  if (decisions.every(({ allowed }) => allowed)) {
    taken.push(...asks.map((ask, index) => takenBy(ask, answers[index])));
  }
  return decisions;
}

/** The verdict of each rule, made from the decisions of all limits in order. */
function verdictsOf(
  rules: readonly RuleInForce[],
  all: readonly Decision[],
): readonly RuleVerdict[] {
  const verdicts = new Array<RuleVerdict>(rules.length);
  let next = 0;
  for (let index = 0; index < rules.length; index++) {
    const rule = rules[index]!;
    const { limits: { length }, capacity } = rule.bound;
    const decision = length > 1
      ? combineDecisions(all.slice(next, next + length), capacity)
      : length === 1
      ? all[next]
      : undefined;
    verdicts[index] = ruleVerdictOf(rule, decision);
    next += length;
  }
  return verdicts;
}

/** Throws if a call would take what it could not give back, or could not settle later. */
function requireWay(rules: readonly RuleInForce[], { onPermits, reserves }: RuleWay): void {
  for (let index = 0; index < rules.length; index++) {
    const { rule, bound: { permits, unreservable } } = rules[index]!;
    if (permits && !onPermits) throw permitsNeeded(rule.label);
    if (reserves && unreservable !== undefined) throw reservableNeeded(rule, unreservable.id);
  }
}

function ruleVerdictOf(
  { rule, key, cost, descriptors, bound: { kind, algorithms: limits, capacity } }: RuleInForce,
  decided: Decision | undefined,
): RuleVerdict {
  const decision = kind === "blocked" ? blockedDecision(cost) : decided;
  const allowed = rule.shadow || decision === undefined || decision.allowed;
  return { rule, key, cost, descriptors, decision, limits, capacity, allowed };
}
