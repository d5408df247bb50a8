/*
 * The routes for permits of `concurrency`, and for reservations that are settled at their real
 * cost. The service keeps nothing for them: the caller has the receipt, and the store has the rest.
 */

import { allOf, andThen, type MaybePromise } from "../../../core/application_support.ts";
import {
  isPermitsNeeded,
  isTooManyLimits,
  type RuleEngine,
  type RulePermit,
  type RuleReceipt,
  type RuleRequest,
  type RuleSettlement,
  type SettledCounter,
  type Verdict,
} from "../../rules/rules.ts";
import { type Holding, type HoldTerms, readHoldings, readHoldTerms } from "./read_holding.ts";
import type { RequestBody } from "./read_request.ts";
import type { RequestBounds } from "./request_bounds.ts";
import { jsonResponse, refuse, type ServiceAnswer } from "./service_answer.ts";
import { decisionJson, verdictJson } from "./verdict_json.ts";

/** The parts of the service that the routes need. */
export interface HoldingRoutesOptions {
  readonly limits: RequestBounds;
  /** Reads a body whose requests all name a domain that has rules. */
  readonly requestsIn: (text: string) => RequestBody;
  /** Refuses a domain that has no rules. */
  readonly requireDomain: (domain: string) => void;
}

/** Makes the answers to the calls, by their paths. */
export function holdingRoutes(
  engine: RuleEngine,
  { limits, requestsIn, requireDomain }: HoldingRoutesOptions,
): Readonly<Record<string, (text: string) => MaybePromise<ServiceAnswer>>> {
  function taking(
    ask: (request: RuleRequest, terms: HoldTerms) => MaybePromise<string>,
  ): (text: string) => MaybePromise<ServiceAnswer> {
    return (text) => {
      const { many, requests } = requestsIn(text);
      const terms = readHoldTerms(text);
      return answerAll(many, requests, (request, index) => ask(request, terms[index]!));
    };
  }

  function giving(
    names: readonly string[],
    needsActual: boolean,
    give: (holding: Holding) => MaybePromise<string>,
  ): (text: string) => MaybePromise<ServiceAnswer> {
    return (text) => {
      const { many, holdings } = readHoldings(text, limits, names, needsActual);
      for (const { held } of holdings) requireDomain(held.domain);
      return answerAll(many, holdings, give);
    };
  }

  const any = ["receipt", "permit"];
  return {
    "/v1/hold": taking((request, { id }) =>
      andThen(
        engine.hold(request, id),
        ({ verdict, permit }) => withHolding(verdict, "permit", permit),
      )
    ),
    "/v1/reserve": taking((request) =>
      andThen(
        engine.reserve(request),
        ({ verdict, receipt }) => withHolding(verdict, "receipt", receipt),
      )
    ),
    "/v1/renew": giving(
      any,
      false,
      ({ held }) => andThen(engine.renew(held), (isHeld) => `{"held":${isHeld}}`),
    ),
    "/v1/settle": giving(
      ["receipt"],
      true,
      ({ held, actual }) => andThen(engine.settle(held as RuleReceipt, actual!), settlementJson),
    ),
    "/v1/release": giving(
      any,
      false,
      ({ held }) => andThen(engine.release(held), settlementJson),
    ),
  };
}

/** Answers each item of a body. A fault of one item is a fault of the body. */
function answerAll<Item>(
  many: boolean,
  items: readonly Item[],
  answer: (item: Item, index: number) => MaybePromise<string>,
): MaybePromise<ServiceAnswer> {
  const answers = items.map((item, index) => checked(() => answer(item, index)));
  return andThen(
    allOf(answers),
    (all) => jsonResponse(many ? `[${all.join(",")}]` : all[0]!),
  );
}

/**
 * Turns the engine's errors about malformed input into refusals; the engine throws them before it
 * asks the store.
 */
function checked(call: () => MaybePromise<string>): MaybePromise<string> {
  try {
    return call();
  } catch (error) {
    if (isTooManyLimits(error) || isPermitsNeeded(error)) throw error;
    if (error instanceof TypeError || error instanceof RangeError) refuse(400, error.message);
    throw error;
  }
}

/** A verdict with the permit or receipt that it gave, or null. */
function withHolding(
  verdict: Verdict,
  name: string,
  held: RulePermit | undefined,
): string {
  return `${verdictJson(verdict).slice(0, -1)},"${name}":${JSON.stringify(held ?? null)}}`;
}

function settlementJson({ outcome, returned, charged, counters }: RuleSettlement): string {
  const list = counters.map(counterJson).join(",");
  return `{"outcome":"${outcome}","returned":${returned},"charged":${charged},"rules":[${list}]}`;
}

function counterJson({ rule, outcome, returned, charged, decision }: SettledCounter): string {
  const name = JSON.stringify(rule.name ?? rule.label);
  return `{"rule":${name},"outcome":"${outcome}","returned":${returned},"charged":${charged},` +
    `${decisionJson(decision)}}`;
}
