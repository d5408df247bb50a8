/*
 * Requests that hold something: permits of `concurrency`, and units whose real cost is known only
 * later. Whatever the rules are, a request is one call with one receipt: permits and units of all
 * counters are taken together or not at all, and given back together.
 */

import { permitTimes } from "../../../core/limiter/open_permit.ts";
import { newPermitId } from "../../../core/limiter/permit_ids.ts";
import { receiptFor } from "../../../core/receipts/receipt.ts";
import type { Verdict } from "../../../core/rules/rules.ts";
import { keyFamily } from "../../../core/stored_key.ts";
import { giveBack, type Taken } from "../../../core/together/taken.ts";
import { hold } from "../../../core/verbs/hold.ts";
import { reserve, type Reserved } from "../../../core/verbs/take_backable.ts";
import { type RuleDecider, verdictOn } from "./decide_request.ts";
import type { RuleHold, RulePermit, RuleReservation } from "./rule_receipt.ts";
import { checkRuleRequest, malformedRequest, type RuleRequest } from "./rule_request.ts";
import { CONSUME_BACKABLY, holding } from "./rule_ways.ts";

/** A request whose units were consumed. */
export interface ConsumedRequest {
  readonly verdict: Verdict;
  /** Gives back the units that were taken and still count. */
  undo(): unknown;
}

/** Holds the permits of a request, and takes the units of one call from its other limits. */
export async function holdRequest(
  decider: RuleDecider,
  request: RuleRequest,
  id: number = newPermitId(),
): Promise<RuleHold> {
  const { verdict, permit } = await takeRequest(decider, request, id, false);
  return { verdict, permit };
}

/**
 * Reserves the units of a request, and holds its permits.
 *
 * @throws {MalformedRequestError} If a limit of its rules is not reservable; nothing was taken.
 */
export async function reserveRequest(
  decider: RuleDecider,
  request: RuleRequest,
): Promise<RuleReservation> {
  const { verdict, permit, taken } = await takeRequest(decider, request, newPermitId(), true);
  const receipt = permit && { ...permit, parts: taken.flatMap(receiptsOf) };
  return { verdict, receipt };
}

/** Consumes the units of a request, which may be given back when it has ended. */
export async function consumeOrUndo(
  decider: RuleDecider,
  request: RuleRequest,
): Promise<ConsumedRequest> {
  checkRuleRequest(request);
  const taken: Taken[] = [];
  const verdict = await verdictOn(decider, request, CONSUME_BACKABLY, taken);
  return { verdict, undo: () => giveBack(taken) };
}

/** Takes the units and permits that a request asks for. If it is refused, it holds nothing. */
async function takeRequest(
  decider: RuleDecider,
  request: RuleRequest,
  id: number,
  reserves: boolean,
) {
  checkRuleRequest(request);
  const { domain, descriptors, cost = 1 } = request;
  if (descriptors.some(({ limit }) => limit !== undefined)) {
    const rule = "descriptors must have no limit of their own";
    throw malformedRequest("hold", rule, "one that has");
  }
  const taken: Taken[] = [];
  const verdict = await verdictOn(decider, request, holding(id, reserves), taken);
  const held: RulePermit = { id, domain, descriptors, cost };
  if (!verdict.allowed) {
    // Rules that are charged separately, and shadows, may have taken units.
    await giveBack(taken);
    return { verdict, permit: decider.shadow ? held : undefined, taken };
  }
  const times = taken.flatMap(({ ask: { bound: { verb, family } } }) =>
    (verb as unknown) === hold ? permitTimes(family.spec.algorithm, family.renewalLag).ttl : []
  );
  const ttl = times.length === 0 ? undefined : Math.min(...times);
  return { verdict, permit: { ...held, ttl }, taken };
}

/** The receipt of units that were reserved. */
function receiptsOf({ ask: { bound: { verb, family: { spec } }, key, argument }, answer }: Taken) {
  if ((verb as unknown) !== reserve) return [];
  const { decision, mark } = answer as Reserved;
  const family = keyFamily(spec.prefix, spec.algorithm.id);
  return [receiptFor(family, key, verb.units(argument), decision, mark)];
}
