/*
 * Charging the rules that hold for a request: each by itself, or all or none.
 *
 * Rules in quota mode refuse only all together, so `all or none` cannot hold among them: see
 * `chargeQuotas`. Shadows are charged last and by themselves. Most requests meet one rule with one
 * limit: that is a single call on the store.
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
import { isSameKey, repeatedOperation } from "../../../core/repeated_operation.ts";
import type { Operation } from "../../../core/store.ts";
import { charge } from "../../../core/verbs/charge.ts";
import { consume } from "../../../core/verbs/consume.ts";
import type { DecisionVerb } from "../../../core/verbs/decision_verb.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { refund } from "../../../core/verbs/refund.ts";
import { bindLimit, type BoundVerdict, boundVerdict, type RuleStore } from "./bound_limits.ts";
import { tooManyLimits } from "./rule_request.ts";

/** A rule that holds for a request, and what decides for it on the store. */
export interface Charge {
  readonly applied: AppliedRule;
  readonly verdict: BoundVerdict;
}

/** The verb that the units of a request are for. */
export type ChargeAction = "consume" | "charge" | "peek" | "refund";

const VERBS: Readonly<Record<ChargeAction, DecisionVerb>> = { consume, charge, peek, refund };

/** A rule's operation on one of its limits, whose argument is a number of units. */
interface UnitsOperation extends Operation {
  readonly argument: number;
}

type Verdicts = MaybePromise<readonly RuleVerdict[]>;

/** Charges the rules that hold for a request: each by itself, or all or none. */
export function chargeRules(
  on: RuleStore,
  mode: ChargeMode,
  charges: readonly Charge[],
  action: ChargeAction,
): MaybePromise<Verdict> {
  if (charges.length === 1) {
    const { applied, verdict: bound } = charges[0]!;
    const verdict = chargeOnly(on, applied, bound, action);
    if (verdict !== undefined) return verdict;
  }
  if (mode === "each") {
    return andThen(chargeEach(on, charges, action, action === "peek"), verdictOf);
  }
  const shadowed = charges.some(({ applied }) => applied.rule.shadow);
  const enforced = shadowed ? charges.filter(({ applied }) => !applied.rule.shadow) : charges;
  return andThen(chargeEnforced(on, enforced, action), (verdicts) => {
    if (!shadowed) return verdictOf(verdicts);
    // Shadows report what they would have decided, and take then.
    const dry = action === "peek" || !verdictOf(verdicts).allowed;
    const shadows = charges.filter(({ applied }) => applied.rule.shadow);
    return andThen(
      chargeEach(on, shadows, action, dry),
      (more) => verdictOf(inOrder(charges, [...verdicts, ...more])),
    );
  });
}

/** One rule with one limit, by a single call on the store; `undefined` of other rules. */
export function chargeOnly(
  on: RuleStore,
  applied: AppliedRule,
  verdict: BoundVerdict,
  action: ChargeAction,
): MaybePromise<Verdict> | undefined {
  if (verdict.limits.length !== 1) return undefined;
  const bound = verdict.limits[0]!.family().bind(VERBS[action]);
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

/** Charges rules that are enforced, all or none; several quotas, where at least one admits. */
function chargeEnforced(
  on: RuleStore,
  charges: readonly Charge[],
  action: ChargeAction,
): Verdicts {
  if (action !== "consume") return chargeTogether(on, charges, action, action === "peek");
  const quotas = charges.filter(({ applied }) => applied.rule.quota);
  const others = quotas.length > 1 ? charges.filter(({ applied }) => !applied.rule.quota) : charges;
  const blocked = others.some(({ applied, verdict }) =>
    verdict.kind === "blocked" && applied.cost > 0
  );
  return quotas.length > 1 && !blocked
    ? andThen(chargeQuotas(on, others, quotas), (verdicts) => inOrder(charges, verdicts))
    : chargeTogether(on, charges, action, blocked);
}

/**
 * Quotas refuse only all together, so each is charged by itself; the other rules all or none, and
 * with at least one quota. They are looked at first, and if they refuse all the same after a quota
 * was charged, that gets its units back.
 */
function chargeQuotas(
  on: RuleStore,
  others: readonly Charge[],
  quotas: readonly Charge[],
): Verdicts {
  const isAllowed = ({ allowed }: RuleVerdict) => allowed;
  return andThen(chargeTogether(on, others, "consume", true), (looked) => {
    const free = looked.every(isAllowed);
    return andThen(chargeEach(on, quotas, "consume", !free), (verdicts): Verdicts => {
      if (!free || !verdicts.some(isAllowed)) return [...looked, ...verdicts];
      return andThen(chargeTogether(on, others, "consume", false), (taken): Verdicts => {
        const all = [...taken, ...verdicts];
        if (taken.every(isAllowed)) return all;
        const charged = quotas.filter((_, index) => verdicts[index]!.allowed);
        return andThen(chargeEach(on, charged, "refund", false), () => all);
      });
    });
  });
}

/** Charges the limits of several rules, each rule by itself. */
function chargeEach(
  on: RuleStore,
  charges: readonly Charge[],
  action: ChargeAction,
  dry: boolean,
): Verdicts {
  const verdicts = charges.map((each) => chargeTogether(on, [each], action, dry));
  return andThen(allOf(verdicts), (all) => all.flat());
}

/** Charges the limits of several rules, all or none. */
function chargeTogether(
  on: RuleStore,
  charges: readonly Charge[],
  action: ChargeAction,
  dry: boolean,
): Verdicts {
  const verb = dry ? peek : VERBS[action];
  const operations: UnitsOperation[] = [];
  for (const { applied: { key, cost }, verdict } of charges) {
    for (const limit of verdict.limits) {
      operations.push({ bound: limit.family().bind(verb), key, argument: cost });
    }
  }
  const decisions = operations.length === 0 ? [] : runOperations(on, operations);
  return andThen(decisions, (all) => {
    let next = 0;
    const verdicts: RuleVerdict[] = [];
    for (const { applied, verdict } of charges) {
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
  });
}

/** Runs operations; those on the same key as one, for a limit of a descriptor may be a rule's. */
function runOperations(
  { store, now }: RuleStore,
  operations: readonly UnitsOperation[],
): MaybePromise<readonly Decision[]> {
  const repeated = repeatedOperation(operations) !== undefined;
  const { wanted, places } = repeated ? mergeTwins(operations) : { wanted: operations, places: [] };
  const { maxOperations: most = Infinity } = store;
  if (wanted.length > most) throw tooManyLimits(most, wanted.length);
  const answers = store.run(wanted, now()) as MaybePromise<readonly Decision[]>;
  return repeated ? andThen(answers, (all) => places.map((place) => all[place]!)) : answers;
}

/** Operations with one for each key, and which of them each of the given ones became. */
function mergeTwins(operations: readonly UnitsOperation[]) {
  const wanted: UnitsOperation[] = [];
  const places = operations.map((operation) => {
    const twin = wanted.findIndex((each) => isSameKey(each, operation));
    if (twin === -1) return wanted.push(operation) - 1;
    wanted[twin] = merged(wanted[twin]!, operation);
    return twin;
  });
  return { wanted, places };
}

/** Two operations on one key as one, with all of their units. */
function merged(one: UnitsOperation, other: UnitsOperation): UnitsOperation {
  const argument = Math.min(one.argument + other.argument, Number.MAX_SAFE_INTEGER);
  const { older } = one.bound.family.spec;
  return { ...(older.length > 0 ? one : other), argument };
}

/** Verdicts in the order of the rules that they are of. */
function inOrder(
  charges: readonly Charge[],
  verdicts: readonly RuleVerdict[],
): readonly RuleVerdict[] {
  return charges.map(({ applied }) =>
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
