/*
 * The routes for permits of `concurrency`, and for reservations that are settled at their real
 * cost. The service keeps nothing for them: the caller has the receipt, and the store has the rest.
 */

import type {
  RuleEngine,
  RulePermit,
  RuleReceipt,
  RuleRequest,
  RuleSettlement,
  SettledCounter,
  Verdict,
} from "../../rules/rules.ts";
import { type Holding, type HoldTerms, readHoldings, readHoldTerms } from "./read_holding.ts";
import type { RequestBody } from "./read_request.ts";
import type { RequestBounds } from "./request_bounds.ts";
import { jsonResponse, type ServiceAnswer } from "./service_answer.ts";
import { decisionJson, verdictJson } from "./verdict_json.ts";

/** The parts of the service that the routes need. */
export interface HoldingRoutesOptions {
  readonly limits: RequestBounds;
  /** Reads a body whose requests all name a domain that has rules. */
  readonly requestsIn: (text: string) => RequestBody;
  /** Refuses a domain that has no rules. */
  readonly requireDomain: (domain: string) => void;
}

/** Answers a call whose body is text. */
type TextRoute = (text: string) => Promise<ServiceAnswer>;

/** Makes the answers to the calls, by their paths. */
export function holdingRoutes(
  engine: RuleEngine,
  { limits, requestsIn, requireDomain }: HoldingRoutesOptions,
): Readonly<Record<string, TextRoute>> {
  function taking(ask: (request: RuleRequest, terms: HoldTerms) => Promise<string>): TextRoute {
    return async (text) => {
      const { many, requests } = requestsIn(text);
      const terms = readHoldTerms(text);
      return await answerAll(many, requests, (request, index) => ask(request, terms[index]!));
    };
  }

  function giving(
    names: readonly string[],
    needsActual: boolean,
    give: (holding: Holding) => Promise<string>,
  ): TextRoute {
    return async (text) => {
      const { many, holdings } = readHoldings(text, limits, names, needsActual);
      for (const { held } of holdings) requireDomain(held.domain);
      return await answerAll(many, holdings, give);
    };
  }

  const any = ["receipt", "permit"];
  return {
    "/v1/hold": taking(async (request, { id }) => {
      const { verdict, permit } = await engine.hold(request, id);
      return withHolding(verdict, "permit", permit);
    }),
    "/v1/reserve": taking(async (request) => {
      const { verdict, receipt } = await engine.reserve(request);
      return withHolding(verdict, "receipt", receipt);
    }),
    "/v1/renew": giving(any, false, async ({ held }) => `{"held":${await engine.renew(held)}}`),
    "/v1/settle": giving(
      ["receipt"],
      true,
      async ({ held, actual }) => settlementJson(await engine.settle(held as RuleReceipt, actual!)),
    ),
    "/v1/release": giving(
      any,
      false,
      async ({ held }) => settlementJson(await engine.release(held)),
    ),
  };
}

/** Answers each item of a body. A fault of one item is a fault of the body. */
async function answerAll<Item>(
  many: boolean,
  items: readonly Item[],
  answer: (item: Item, index: number) => Promise<string>,
): Promise<ServiceAnswer> {
  const all = await Promise.all(items.map(answer));
  return jsonResponse(many ? `[${all.join(",")}]` : all[0]!);
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
