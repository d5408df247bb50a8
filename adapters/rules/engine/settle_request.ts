/*
 * Settles the units of a request at their real cost, and renews or releases its permits. The
 * current rules find the counters. The units of counters that no longer exist stay as they are.
 */

import { holdsPermits } from "../../../core/algorithms/holds_permits.ts";
import { checkCost } from "../../../core/options/checks.ts";
import type { Receipt } from "../../../core/receipts/receipt.ts";
import { keyFamily } from "../../../core/stored_key.ts";
import { release } from "../../../core/verbs/release.ts";
import { renew } from "../../../core/verbs/renew.ts";
import { releasedPermit, settlingVerb } from "../../../core/verbs/settle.ts";
import { countersOf, type RuleCounter, type RuleDecider } from "./decide_request.ts";
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
import { givenAs, malformedRequest } from "./rule_request.ts";

/** Settles a receipt at the units really used, and releases its permits. */
export function settleRequest(
  decider: RuleDecider,
  receipt: RuleReceipt,
  actual: ActualCost,
): Promise<RuleSettlement> {
  givenAs(checkHolding, "settle", receipt);
  const { cost, descriptors } = receipt;
  if (typeof actual === "number") {
    givenAs(checkCost, "settle", actual, 0);
    return settled(decider, receipt, descriptors.map(({ cost: own = actual }) => own));
  }
  if (!Array.isArray(actual) || actual.length !== descriptors.length) {
    const rule = `actual must be a number, or a list of ${descriptors.length}, one a descriptor`;
    throw malformedRequest("settle", rule, actual);
  }
  const used = descriptors.map(({ cost: own = cost }, index) => {
    const given: number | undefined = actual[index];
    return given === undefined ? own : given;
  });
  givenAs(() => used.forEach((units) => checkCost("settle", units, 0)));
  return settled(decider, receipt, used);
}

/** Gives back all units of a receipt, and releases permits. */
export function releaseRequest(
  decider: RuleDecider,
  held: RulePermit | RuleReceipt,
): Promise<RuleSettlement> {
  givenAs(checkHolding, "release", held);
  const receipt: RuleReceipt = isReceipt(held) ? held : { ...held, parts: [] };
  return settled(decider, receipt, held.descriptors.map(() => 0));
}

/** Renews permits; answers whether all of them are held. */
export async function renewRequest(decider: RuleDecider, held: RulePermit): Promise<boolean> {
  givenAs(checkHolding, "renew", held);
  const counters = await countersOf(decider, held);
  const renewed = counters.filter(isPermit).map(async ({ rule, key, cost, counter }) => {
    const { allowed } = await counter.call(renew, key, { id: held.id, cost });
    // A rule in shadow mode refuses nothing, and may have given no permit.
    return allowed || rule.shadow || decider.shadow;
  });
  return (await Promise.all(renewed)).every(Boolean);
}

/** @param used The units of each descriptor that were used. */
async function settled(
  decider: RuleDecider,
  receipt: RuleReceipt,
  used: readonly number[],
): Promise<RuleSettlement> {
  const left = [...receipt.parts];
  const descriptors = receipt.descriptors.map((each, index) => ({ ...each, cost: used[index]! }));
  const counters = await countersOf(decider, { ...receipt, descriptors });
  const outcomes = counters.map(async (each): Promise<readonly SettledCounter[]> => {
    const { rule, key, cost, counter } = each;
    if (isPermit(each)) {
      const { id } = receipt;
      const decision = await counter.call(release, key, { id, cost });
      return [{ rule, key, ...releasedPermit(decision) }];
    }
    const place = left.findIndex((part) => isOf(part, each));
    if (place === -1) return [];
    const [part] = left.splice(place, 1) as [Receipt];
    const argument = { receipt: part, used: cost };
    return [{ rule, key, ...await counter.call(settlingVerb(part, cost), key, argument) }];
  });
  const found = (await Promise.all(outcomes)).flat();
  return settlementOf(found, receipt.parts.length > 0 ? "unknown" : "settled");
}

function isPermit({ counter }: RuleCounter): boolean {
  return holdsPermits(counter.algorithm);
}

function isOf(part: Receipt, { key, counter: { family: { spec } } }: RuleCounter): boolean {
  return part.key === key && part.source !== "policy" &&
    part.family === keyFamily(spec.prefix, spec.algorithm.id);
}
