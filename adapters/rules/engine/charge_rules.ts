/*
 * Charging the rules that hold for a request: each by itself, or all or none.
 *
 * Rules in quota mode refuse only all together, so `all or none` cannot hold among them: see
 * `chargeQuotas`. Shadows are charged last and by themselves. Most requests meet one rule with one
 * limit: that way is the store's lane, without a list of operations.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { combineDecisions } from "../../../core/algorithms/combine_decisions.ts";
import type { Decision } from "../../../core/decision.ts";
import {
  type AppliedRule,
  blockedDecision,
  type Domain,
  type RuleVerdict,
  type Verdict,
  verdictOf,
} from "../../../core/rules/rules.ts";
import type { Operation, Store } from "../../../core/store.ts";
import { allOf, andThen, type MaybePromise } from "../maybe_promise.ts";
import { tooManyLimits } from "./too_many_limits.ts";
import type { Binder, BoundLimit, BoundVerdict } from "./bound_rules.ts";

/** What a rule that holds comes to on the store. */
export interface Charge {
  readonly applied: AppliedRule;
  readonly verdict: BoundVerdict;
}

/** What is to be done with the units of a request. */
export type ChargeAction = "consume" | "peek" | "refund";

/** What charges rules on a store. */
export interface RuleCharger {
  /** Charges the rules that hold for a request, as the domain says. */
  charge(domain: Domain, charges: readonly Charge[], way: ChargeAction): MaybePromise<Verdict>;
  /** One rule with one limit, by the store's short way; `undefined` where there is none. */
  chargePrepared(charge: Charge, way: ChargeAction): MaybePromise<Verdict> | undefined;
}

/**
 * Makes what charges rules.
 *
 * @param instant The time now, to tell limits that are changing.
 * @param now The time for the store; `undefined` for its own.
 */
export function ruleCharger(
  store: Store,
  bound: Binder,
  instant: () => number,
  now: () => number | undefined,
): RuleCharger {
  function charge(
    domain: Domain,
    charges: readonly Charge[],
    way: ChargeAction,
  ): MaybePromise<Verdict> {
    if (charges.length === 1) {
      const said = chargeInLane(charges[0]!, way);
      if (said !== undefined) return said;
    }
    if (domain.charge === "each") {
      return andThen(
        allOf(charges.map((each) => runOne(domain, each, way, way === "peek"))),
        verdictOf,
      );
    }
    const enforced = charges.filter(({ applied }) => !applied.rule.shadow);
    const blocked = way === "consume" &&
      enforced.some(({ applied, verdict }) => verdict.kind === "blocked" && applied.cost > 0);
    const quotas = enforced.filter(({ applied }) => applied.rule.quota);
    const dry = way === "peek" || blocked;
    const verdicts = quotas.length > 1 && way === "consume" && !dry
      ? chargeQuotas(domain, enforced.filter(({ applied }) => !applied.rule.quota), quotas)
      : run(domain, enforced, way, dry);
    return andThen(verdicts, (known) => withShadows(domain, charges, known, way));
  }

  /**
   * Quotas refuse only all together, so each is charged by itself; the other rules all or none, and
   * with at least one quota. They are asked first, and if they refuse all the same after a quota was
   * charged, that gets its units back.
   */
  function chargeQuotas(
    domain: Domain,
    others: readonly Charge[],
    quotas: readonly Charge[],
  ): MaybePromise<readonly RuleVerdict[]> {
    const eachQuota = (dry: boolean) =>
      allOf(quotas.map((quota) => runOne(domain, quota, "consume", dry)));
    return andThen(
      run(domain, others, "consume", true),
      (asked): MaybePromise<readonly RuleVerdict[]> => {
        if (!asked.every(({ allowed }) => allowed)) {
          return andThen(eachQuota(true), (said) => [...asked, ...said]);
        }
        return andThen(eachQuota(false), (said): MaybePromise<readonly RuleVerdict[]> => {
          if (!said.some(({ allowed }) => allowed)) return [...asked, ...said];
          return andThen(
            run(domain, others, "consume", false),
            (taken): MaybePromise<readonly RuleVerdict[]> => {
              if (taken.every(({ allowed }) => allowed)) return [...taken, ...said];
              const charged = quotas.filter((_, place) => said[place]!.allowed);
              return andThen(
                allOf(charged.map((quota) => runOne(domain, quota, "refund", false))),
                () => [...taken, ...said],
              );
            },
          );
        });
      },
    );
  }

  /** One rule with one limit, by the store's short way; `undefined` where there is none. */
  function chargeInLane(
    { applied, verdict }: Charge,
    way: ChargeAction,
  ): MaybePromise<Verdict> | undefined {
    if (verdict.limits.length !== 1) return undefined;
    const limit = verdict.limits[0]!;
    if (limit.lane === undefined || isChanging(limit)) return undefined;
    const cost = way === "refund" ? -applied.cost : applied.cost;
    const answer = limit.lane(applied.key, cost, way === "peek", now());
    return answer instanceof Promise
      ? answer.then((decision) => verdictOf([ruleVerdictOf(applied, verdict, decision)]))
      : verdictOf([ruleVerdictOf(applied, verdict, answer)]);
  }

  /** Whether keys may still hold use under an earlier version of the limit. */
  function isChanging({ older }: BoundLimit): boolean {
    return older.length > 0 && older.some(({ until }) => until > instant());
  }

  /** Shadows come last and by themselves: they report what they would have said, and take then. */
  function withShadows(
    domain: Domain,
    charges: readonly Charge[],
    enforced: readonly RuleVerdict[],
    way: ChargeAction,
  ): MaybePromise<Verdict> {
    if (enforced.length === charges.length) return verdictOf(inOrder(charges, enforced));
    const dry = way === "peek" || !verdictOf(enforced).allowed;
    const shadows = charges.filter(({ applied }) => applied.rule.shadow);
    return andThen(
      allOf(shadows.map((each) => runOne(domain, each, way, dry))),
      (verdicts) => verdictOf(inOrder(charges, [...enforced, ...verdicts])),
    );
  }

  function runOne(
    domain: Domain,
    each: Charge,
    way: ChargeAction,
    dry: boolean,
  ): MaybePromise<RuleVerdict> {
    return andThen(run(domain, [each], way, dry), (verdicts) => verdicts[0]!);
  }

  /** Charges the limits of several rules, all or none. */
  function run(
    domain: Domain,
    charges: readonly Charge[],
    way: ChargeAction,
    dry: boolean,
  ): MaybePromise<readonly RuleVerdict[]> {
    const wanted = charges.flatMap(({ applied, verdict }) => {
      const cost = way === "refund" ? -applied.cost : applied.cost;
      return verdict.limits.map((limit) =>
        bound.operation(domain.name, limit, applied.key, cost, dry)
      );
    });
    const decisions = wanted.length === 0 ? [] : andThen(allOf(wanted), runAll);
    return andThen(decisions, (all) => {
      let next = 0;
      return charges.map(({ applied, verdict }) => {
        const own = all.slice(next, next += verdict.limits.length);
        const decision = own.length > 1 ? combineDecisions(own, verdict.capacity) : own[0];
        return ruleVerdictOf(applied, verdict, decision);
      });
    });
  }

  /** Runs operations; those on the same key as one, for a limit of a descriptor may be a rule's. */
  function runAll(operations: readonly Operation[]): MaybePromise<readonly Decision[]> {
    const places = new Map<string, number>();
    const wanted: Operation[] = [];
    for (const operation of operations) {
      const twin = places.get(operation.key);
      if (twin === undefined) {
        places.set(operation.key, wanted.length);
        wanted.push(operation);
      } else wanted[twin] = merged(wanted[twin]!, operation);
    }
    if (wanted.length > (store.internals?.mostOperations ?? Infinity)) {
      throw tooManyLimits(store.internals?.mostOperations!, wanted.length);
    }
    if (wanted.length === operations.length) return store.run(wanted, now());
    return andThen<readonly Decision[], readonly Decision[]>(
      store.run(wanted, now()),
      (decisions) => operations.map(({ key }) => decisions[places.get(key)!]!),
    );
  }

  return { charge, chargePrepared: chargeInLane };
}

/** Two operations on one key as one, with all of their units. */
function merged(one: Operation, other: Operation): Operation {
  const most = Number.MAX_SAFE_INTEGER;
  const cost = Math.max(-most, Math.min(one.cost + other.cost, most));
  return { ...one, cost, replaces: one.replaces ?? other.replaces };
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

/** A limit that came with its descriptor. */
export function overriding(limit: Algorithm | "blocked"): BoundVerdict {
  if (limit === "blocked") return { kind: "blocked", limits: [], algorithms: [], capacity: 0 };
  const only: BoundLimit = { algorithm: limit, lane: undefined, older: [] };
  return { kind: "limited", limits: [only], algorithms: [limit], capacity: limit.capacity };
}
