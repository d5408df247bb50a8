/*
 * Requests that hold something: permits of `concurrency`, and units whose real cost is known only
 * later. Whatever the rules are, a request is one call with one receipt: permits and units of all
 * counters are taken together or not at all, and given back together.
 */

import { holdsPermits } from "../../../core/algorithms/holds_permits.ts";
import { permitTimes } from "../../../core/limiter/open_permit.ts";
import { newPermitId } from "../../../core/limiter/permit_ids.ts";
import { allOf, andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import { typeError } from "../../../core/options/checks.ts";
import type { Mark, Receipt } from "../../../core/receipts/receipt.ts";
import { matchRules, type Verdict } from "../../../core/rules/rules.ts";
import type { Family } from "../../../core/store.ts";
import { keyFamily } from "../../../core/stored_key.ts";
import { type RuleDecider, rulesInForce, verdictOn } from "./decide_request.ts";
import {
  backableUnits,
  keptTaking,
  type RememberedTaking,
  reservedUnits,
  type TakenCounter,
} from "./kept_taking.ts";
import type { RuleHold, RulePermit, RuleReservation } from "./rule_receipt.ts";
import { checkRuleRequest, type RuleRequest } from "./rule_request.ts";
import { consumeKept } from "./takings.ts";

/** A request whose units were consumed. */
export interface ConsumedRequest {
  readonly verdict: Verdict;
  /** Gives back the units that were taken and still count. */
  undo(): MaybePromise<unknown>;
}

/** Holds the permits of a request, and takes the units of one call from its other limits. */
export function holdRequest(
  decider: RuleDecider,
  request: RuleRequest,
  id: number = newPermitId(),
): MaybePromise<RuleHold> {
  const taking = keptTaking(id, true, backableUnits);
  return takeRequest(decider, request, id, taking, (verdict, permit) => ({ verdict, permit }));
}

/**
 * Reserves the units of a request, and holds its permits.
 *
 * @throws {TypeError} If a limit of its rules is not reservable; nothing was taken.
 */
export function reserveRequest(
  decider: RuleDecider,
  request: RuleRequest,
): MaybePromise<RuleReservation> {
  const id = newPermitId();
  const taking = keptTaking(id, true, reservedUnits);
  checkRuleRequest(request);
  return andThen(
    requireReservable(decider, request),
    () =>
      takeRequest(decider, request, id, taking, (verdict, permit) => {
        const counters = permit === undefined ? [] : [...taking.taken.values()];
        const parts = counters.flatMap((counter) => receiptOf(counter) ?? []);
        return { verdict, receipt: permit && { ...permit, parts } };
      }),
  );
}

/** Requires that all limits of a request can be settled later, before anything is taken. */
function requireReservable(
  decider: RuleDecider,
  { domain: name, descriptors, cost = 1 }: RuleRequest,
): MaybePromise<void> {
  const domain = decider.bound.set.domains.get(name);
  if (domain === undefined) return;
  const applied = matchRules(domain, descriptors, cost);
  return andThen(rulesInForce(decider, domain, applied), (rules) => {
    for (const { applied: { rule }, verdict } of rules) {
      for (const { algorithm } of verdict.limits) {
        if (holdsPermits(algorithm) || algorithm.internals?.receipts !== undefined) continue;
        const named = rule.name ?? rule.label;
        throw typeError(
          "reserve",
          `the limits of rule ${named} must have reservable: true`,
          algorithm.id,
        );
      }
    }
  });
}

/** Consumes the units of a request, which may be given back when it has ended. */
export function consumeOrUndo(
  decider: RuleDecider,
  request: RuleRequest,
): MaybePromise<ConsumedRequest> {
  checkRuleRequest(request);
  const taking = consumeKept();
  return andThen(verdictOn(decider, request, taking), (verdict) => ({
    verdict,
    undo: () => undone(decider, taking),
  }));
}

/** Takes the units and permits that a request asks for. If it is refused, it holds nothing. */
function takeRequest<Answer>(
  decider: RuleDecider,
  request: RuleRequest,
  id: number,
  taking: RememberedTaking,
  answer: (verdict: Verdict, permit: RulePermit | undefined) => MaybePromise<Answer>,
): MaybePromise<Answer> {
  checkRuleRequest(request);
  const { domain, descriptors, cost = 1 } = request;
  if (descriptors.some(({ limit }) => limit !== undefined)) {
    throw typeError("hold", "descriptors must have no limit of their own", "one that has");
  }
  return andThen(verdictOn(decider, request, taking), (verdict) => {
    const held = { id, domain, descriptors, cost };
    if (!verdict.allowed) {
      // Rules that are charged separately, and shadows, may have taken units.
      return andThen(
        undone(decider, taking),
        () => answer(verdict, decider.shadow ? held : undefined),
      );
    }
    const times = [...taking.taken.values()].map(({ family }) => family)
      .filter(({ spec }) => holdsPermits(spec.algorithm))
      .map(({ spec, renewalLag }) => permitTimes(spec.algorithm, renewalLag).ttl);
    const ttl = times.length === 0 ? undefined : Math.min(...times);
    return answer(verdict, { ...held, ttl });
  });
}

/** Gives back all that is taken. */
function undone({ on }: RuleDecider, { taken, undo }: RememberedTaking): MaybePromise<unknown> {
  const operations = [...taken.values()].map(undo.operation);
  return allOf(operations.map(({ bound, key, argument }) => bound.call(key, argument, on.now())));
}

/** The receipt of a counter's units; `undefined` for an answer that is only a decision. */
function receiptOf({ family, key, units, answer }: TakenCounter): Receipt | undefined {
  if (!("decision" in answer)) return undefined;
  const { decision: { source }, mark } = answer;
  const { id, number, until, marks }: Mark = mark ?? { id: 1, number: 0, until: 0, marks: [] };
  return { id, number, key, family: familyOf(family), units, until, marks, source };
}

/** The name of a family in receipts. */
export function familyOf({ spec: { prefix, algorithm } }: Family): string {
  return keyFamily(prefix, algorithm.id);
}
