/*
 * The routes for permits of `concurrency`, and for reservations that are settled at their real
 * cost. The service keeps nothing for them: the caller has the receipt, and the store has the rest.
 */

import type {
  RuleEngine,
  RulePermit,
  RuleReceipt,
  RuleSettlement,
  SettledCounter,
  Verdict,
} from "../../rules/rules.ts";
import { type Holding, readHoldings } from "./read_holding.ts";
import type { ReadRequest } from "./read_request.ts";
import type { RequestBounds } from "./request_bounds.ts";
import { answerEach, type Body, type ServiceAnswer } from "./service_answer.ts";
import { decisionJson, verdictJson } from "./verdict_json.ts";

/** Answers a call whose body is text. */
type TextRoute = (text: string) => Promise<ServiceAnswer>;

/**
 * Makes the answers to the calls, by their paths.
 *
 * @param requestsIn Reads a body whose requests all name a domain that has rules.
 * @param requireRules Refuses a domain that has no rules.
 */
export function holdingRoutes(
  engine: RuleEngine,
  limits: RequestBounds,
  requestsIn: (text: string) => Body<ReadRequest>,
  requireRules: (domain: string) => void,
): Readonly<Record<string, TextRoute>> {
  function giving(
    names: readonly string[],
    needsActual: boolean,
    give: (holding: Holding) => Promise<string>,
  ): TextRoute {
    return async (text) => {
      const body = readHoldings(text, limits, names, needsActual);
      for (const { held } of body.items) requireRules(held.domain);
      return await answerEach(body, give);
    };
  }

  async function hold({ request, map }: ReadRequest): Promise<string> {
    const { verdict, permit } = await engine.hold(request, map["id"] as number | undefined);
    return withHolding(verdict, "permit", permit);
  }

  async function reserve({ request }: ReadRequest): Promise<string> {
    const { verdict, receipt } = await engine.reserve(request);
    return withHolding(verdict, "receipt", receipt);
  }

  const any = ["receipt", "permit"];
  return {
    "/v1/hold": async (text) => await answerEach(requestsIn(text), hold),
    "/v1/reserve": async (text) => await answerEach(requestsIn(text), reserve),
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
