/*
 * Requests that hold something: permits of `concurrency`, and units whose real cost is known only
 * later. Whatever the rules are, a request is one call with one receipt: permits and units of all
 * counters are taken together or not at all, and given back together.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { holdsPermits } from "../../../core/algorithms/holds_permits.ts";
import type { Decision } from "../../../core/decision.ts";
import { permitTimes } from "../../../core/limiter/open_permit.ts";
import { newPermitId } from "../../../core/limiter/permit_ids.ts";
import { allOf, andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import { typeError } from "../../../core/options/checks.ts";
import type { Receipt } from "../../../core/receipts/receipt.ts";
import type { Verdict } from "../../../core/rules/rules.ts";
import type { Family, Operation } from "../../../core/store.ts";
import { keyFamily } from "../../../core/stored_key.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { hold } from "../../../core/verbs/hold.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { refund } from "../../../core/verbs/refund.ts";
import { release } from "../../../core/verbs/release.ts";
import { type Mark, reserve, type Reserved, reserveFor } from "../../../core/verbs/reserve.ts";
import { giveBackReceipt } from "../../../core/verbs/settle.ts";
import { type RuleDecider, verdictOn } from "./decide_request.ts";
import type { RuleHold, RulePermit, RuleReservation } from "./rule_receipt.ts";
import { checkRuleRequest, type RuleRequest } from "./rule_request.ts";
import type { CounterUnits, Taking } from "./taking.ts";

/** A counter from which something was taken. */
interface Taken extends CounterUnits {
  /** The receipt of its units; `undefined` of permits, and of units that nobody gives back. */
  readonly receipt: Receipt | undefined;
}

/** A taking that remembers what it took. */
interface RememberedTaking extends Taking {
  readonly taken: Map<string, Taken>;
}

/** Holds the permits of a request, and takes one call's units of its other limits. */
export function holdRequest(
  decider: RuleDecider,
  request: RuleRequest,
  id: number = newPermitId(),
): MaybePromise<RuleHold> {
  return takeRequest(decider, request, id, plainUnits, (verdict, permit) => ({ verdict, permit }));
}

/** Reserves the units of a request, and holds its permits. */
export function reserveRequest(
  decider: RuleDecider,
  request: RuleRequest,
  ttl: number,
): MaybePromise<RuleReservation> {
  const id = newPermitId();
  return takeRequest(
    decider,
    request,
    id,
    (counter) => reservedUnits(counter, id, ttl),
    (verdict, permit, parts) => ({
      verdict,
      receipt: permit && { ...permit, parts },
    }),
  );
}

/** Takes what a request asks for; where it is refused, it holds nothing. */
function takeRequest<Answer>(
  decider: RuleDecider,
  request: RuleRequest,
  id: number,
  unitsOf: (counter: CounterUnits) => Operation,
  answer: (
    verdict: Verdict,
    permit: RulePermit | undefined,
    parts: readonly Receipt[],
  ) => Answer,
): MaybePromise<Answer> {
  checkRuleRequest(request);
  const { domain, descriptors, cost = 1 } = request;
  if (descriptors.some(({ limit }) => limit !== undefined)) {
    throw typeError("hold", "descriptors must have no limit of their own", "one that has");
  }
  const taking = rememberedTaking(id, unitsOf);
  return andThen(verdictOn(decider, request, taking), (verdict) => {
    const taken = [...taking.taken.values()];
    const held = { id, domain, descriptors, cost };
    if (!verdict.allowed) {
      // Rules that are charged each by itself, and shadows, may have taken something.
      return andThen(
        allOf(taken.map((counter) => undone(decider, taking.undo!, counter))),
        () => answer(verdict, decider.shadow ? held : undefined, []),
      );
    }
    const times = taken.map(({ family }) => family.spec.algorithm).filter(holdsPermits)
      .map((algorithm: Algorithm) => permitTimes(algorithm).ttl);
    const ttl = times.length === 0 ? undefined : Math.min(...times);
    const parts = taken.flatMap(({ receipt }) => receipt ?? []);
    return andThen(
      allOf(parts.map((part) => named(decider, part))),
      (all) => answer(verdict, { ...held, ttl }, all),
    );
  });
}

/** A receipt with the name of the store that holds its units. */
function named({ names }: RuleDecider, receipt: Receipt): MaybePromise<Receipt> {
  const { source } = receipt;
  return source === "policy"
    ? receipt
    : andThen(names.of(source), (store) => ({ ...receipt, store }));
}

function undone(
  { on }: RuleDecider,
  undo: Taking,
  counter: CounterUnits,
): MaybePromise<unknown> {
  const { bound, key, argument } = undo.operation(counter);
  return bound.call(key, argument, on.now());
}

/** Makes what takes permits and units, and remembers them. */
function rememberedTaking(
  id: number,
  unitsOf: (counter: CounterUnits) => Operation,
): RememberedTaking {
  const taken = new Map<string, Taken>();
  const nameOf = ({ family, key }: CounterUnits) => family.nameOf(key);

  const undo: Taking = {
    verb: undefined,
    onPermits: true,
    operation(counter) {
      const { family, key, units } = counter;
      const receipt = taken.get(nameOf(counter))?.receipt;
      taken.delete(nameOf(counter));
      if (holdsPermits(family.spec.algorithm)) {
        return { bound: family.bind(release), key, argument: { id, cost: units } };
      }
      return receipt === undefined
        ? { bound: family.bind(refund), key, argument: units }
        : { bound: family.bind(giveBackReceipt), key, argument: { receipt, actual: 0 } };
    },
    decisionOf: decisionIn,
    undo: undefined,
  };

  return {
    verb: undefined,
    onPermits: true,
    operation(counter) {
      const { family, key, units } = counter;
      // A look, as whoever holds no units holds no permit.
      if (units === 0) return { bound: family.bind(peek), key, argument: 0 };
      return holdsPermits(family.spec.algorithm)
        ? { bound: family.bind(hold), key, argument: { id, cost: units } }
        : unitsOf(counter);
    },
    decisionOf: decisionIn,
    took(counters, answers) {
      counters.forEach((counter, index) => {
        if (counter.units === 0) return;
        const receipt = receiptOf(counter, id, answers[index] as Decision | Reserved);
        taken.set(nameOf(counter), { ...counter, receipt });
      });
    },
    undo,
    taken,
  };
}

function plainUnits({ family, key, units }: CounterUnits): Operation {
  return { bound: family.bind(consume), key, argument: units };
}

function reservedUnits({ family, key, units }: CounterUnits, id: number, ttl: number): Operation {
  const bound = family.bind(ttl === 0 ? reserve : reserveFor);
  return { bound, key, argument: { cost: units, id, ttl } };
}

/** The decision in the answer of any verb here: some answer more than that. */
function decisionIn(answer: unknown): Decision {
  const { decision } = answer as { readonly decision?: Decision };
  return decision ?? answer as Decision;
}

/** The receipt of a counter's units; `undefined` of an answer that is a decision alone. */
function receiptOf(
  { family, key, units }: CounterUnits,
  id: number,
  answer: Decision | Reserved,
): Receipt | undefined {
  if (!("decision" in answer)) return undefined;
  const { decision: { source }, mark } = answer;
  const { at, until, expires, marks }: Mark = mark ??
    { at: 0, until: 0, expires: false, marks: [] };
  return { id, key, family: familyOf(family), at, units, until, expires, marks, source };
}

/** The name of a family, as receipts have it. */
export function familyOf({ spec: { prefix, algorithm } }: Family): string {
  return keyFamily(prefix, algorithm.id);
}
