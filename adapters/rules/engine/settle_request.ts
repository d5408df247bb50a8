/*
 * Settles the units of a request at their real cost, and renews or releases its permits. The
 * current rules find the counters. The units of counters that no longer exist stay as they are.
 */

import { holdsPermits } from "../../../core/algorithms/holds_permits.ts";
import { checkCost, typeError } from "../../../core/options/checks.ts";
import { allOf, andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import type { Receipt, Settlement } from "../../../core/receipts/receipt.ts";
import { type Descriptor, matchRules } from "../../../core/rules/rules.ts";
import { release } from "../../../core/verbs/release.ts";
import { renew } from "../../../core/verbs/renew.ts";
import { chargeReceipt, giveBackReceipt } from "../../../core/verbs/settle.ts";
import type { BoundLimit } from "./bound_limits.ts";
import type { RuleInForce } from "./ask_rules.ts";
import { type RuleDecider, rulesInForce } from "./decide_request.ts";
import { familyOf } from "./hold_request.ts";
import {
  type ActualCost,
  checkHolding,
  isReceipt,
  type RulePermit,
  type RuleReceipt,
  type RuleSettlement,
  type SettledCounter,
  settlementOf,
} from "./rule_receipt.ts";

/** A limit of one of the rules of a request, at the cost of the rule. */
interface Counter extends RuleInForce {
  readonly limit: BoundLimit;
}

/** Settles a receipt at the units really used, and releases its permits. */
export function settleRequest(
  decider: RuleDecider,
  receipt: RuleReceipt,
  actual: ActualCost,
): MaybePromise<RuleSettlement> {
  checkHolding("settle", receipt);
  if (typeof actual === "number") {
    checkCost("settle", actual, 0);
    return settled(decider, receipt, receipt.descriptors, actual);
  }
  const { cost, descriptors } = receipt;
  if (!Array.isArray(actual) || actual.length !== descriptors.length) {
    const rule = `actual must be a number, or a list of ${descriptors.length}, one a descriptor`;
    throw typeError("settle", rule, actual);
  }
  const costing = descriptors.map((descriptor, index) => {
    const own: number | undefined = actual[index];
    if (own === undefined) return descriptor;
    checkCost("settle", own, 0);
    return { ...descriptor, cost: own };
  });
  return settled(decider, receipt, costing, cost);
}

/** Gives back all units of a receipt, and releases permits. */
export function releaseRequest(
  decider: RuleDecider,
  held: RulePermit | RuleReceipt,
): MaybePromise<RuleSettlement> {
  checkHolding("release", held);
  const receipt: RuleReceipt = isReceipt(held) ? held : { ...held, parts: [] };
  // Descriptors with a cost of their own get that cost back, too.
  const free = held.descriptors.map((descriptor) => ({ ...descriptor, cost: 0 }));
  return settled(decider, receipt, free, 0);
}

/** Renews permits; answers whether all of them are held. */
export function renewRequest(decider: RuleDecider, held: RulePermit): MaybePromise<boolean> {
  checkHolding("renew", held);
  return andThen(countersOf(decider, held, held.descriptors, held.cost), (counters) => {
    const renewed = counters.filter(isPermit).map(({ applied, limit }) =>
      andThen(
        limit.family().bind(renew).call(
          applied.key,
          { id: held.id, cost: applied.cost },
          decider.on.now(),
        ),
        // A rule in shadow mode refuses nothing, and may have given no permit.
        ({ allowed }) => allowed || applied.rule.shadow || decider.shadow,
      )
    );
    return andThen(allOf(renewed), (all) => all.every(Boolean));
  });
}

function settled(
  decider: RuleDecider,
  receipt: RuleReceipt,
  descriptors: readonly Descriptor[],
  actual: number,
): MaybePromise<RuleSettlement> {
  return andThen(countersOf(decider, receipt, descriptors, actual), (counters) => {
    const left = [...receipt.parts];
    const outcomes = counters.map((counter) => {
      if (isPermit(counter)) return released(decider, receipt, counter);
      const place = left.findIndex((part) => isOf(part, counter));
      if (place === -1) return undefined;
      const [part] = left.splice(place, 1) as [Receipt];
      return settledCounter(decider, counter, part);
    });
    return andThen(
      allOf(outcomes),
      (all) => {
        const found = all.flatMap((outcome) => outcome ?? []);
        const settlement = settlementOf(found);
        const isLost = found.length === 0 && receipt.parts.length > 0;
        return isLost ? { ...settlement, outcome: "unknown" as const } : settlement;
      },
    );
  });
}

function settledCounter(
  { on }: RuleDecider,
  { applied: { rule, key, cost }, limit }: Counter,
  receipt: Receipt,
): MaybePromise<SettledCounter> {
  const verb = cost > receipt.units ? chargeReceipt : giveBackReceipt;
  const answer: MaybePromise<Settlement> = limit.family().bind(verb)
    .call(key, { receipt, used: cost }, on.now());
  return andThen(answer, (settlement) => ({ rule, key, ...settlement }));
}

/** Releases a permit; it counts as given back if it was held. */
function released(
  { on }: RuleDecider,
  { id }: RulePermit,
  { applied: { rule, key, cost }, limit }: Counter,
): MaybePromise<SettledCounter> {
  const bound = limit.family().bind(release);
  return andThen(bound.call(key, { id, cost }, on.now()), (decision) => {
    const isHeld = decision.allowed && decision.source !== "policy";
    const outcome = isHeld ? "settled" as const : "unknown" as const;
    return { rule, key, decision, returned: 0, charged: 0, outcome };
  });
}

/** The counters of a request, each with the cost of its rule. */
function countersOf(
  decider: RuleDecider,
  { domain: name }: RulePermit,
  descriptors: readonly Descriptor[],
  cost: number,
): MaybePromise<readonly Counter[]> {
  const domain = decider.bound.set.domains.get(name);
  if (domain === undefined) return [];
  const applied = matchRules(domain, descriptors, cost);
  return andThen(
    rulesInForce(decider, domain, applied),
    (rules) => rules.flatMap((rule) => rule.verdict.limits.map((limit) => ({ ...rule, limit }))),
  );
}

function isPermit({ limit }: Counter): boolean {
  return holdsPermits(limit.algorithm);
}

function isOf(part: Receipt, { applied, limit }: Counter): boolean {
  return part.key === applied.key && part.family === familyOf(limit.family()) &&
    part.source !== "policy";
}
