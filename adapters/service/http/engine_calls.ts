/*
 * The calls of `/v1` to the engine: what is read from a body, and what answers. The service keeps
 * nothing for permits of `concurrency`, and for reservations that are settled at their real cost: the
 * caller has the receipt, and the store has the rest.
 */

import { readPeriod, readReason } from "../../../core/application_support.ts";
import type { RuleEngine, RulePermit, RuleReceipt, Verdict } from "../../rules/rules.ts";
import { errorText, type Log } from "../log.ts";
import { at } from "./body_place.ts";
import { type Holding, readHoldings } from "./read_holding.ts";
import { type ReadRequest, readRequest } from "./read_request.ts";
import type { RequestBounds } from "./request_bounds.ts";
import {
  answerEach,
  type Body,
  jsonResponse,
  refuse,
  type ServiceAnswer,
} from "./service_answer.ts";
import { settlementJson, verdictJson } from "./verdict_json.ts";

/** Answers a call whose body is text. */
type TextCall = (text: string) => Promise<ServiceAnswer>;

/** Makes the answers to the calls, by their paths. */
export function engineCalls(
  engine: RuleEngine,
  limits: RequestBounds,
  log: Log,
): Readonly<Record<string, TextCall>> {
  function requireRules(domain: string): void {
    if (engine.rules.domains.has(domain)) return;
    refuse(404, `there are no rules for the domain ${JSON.stringify(domain.slice(0, 100))}`);
  }

  /** Reads a body whose requests all name a domain that has rules. */
  function requestsIn(text: string): Body<ReadRequest> {
    const { domains } = engine.rules;
    const only = domains.size === 1 ? domains.keys().next().value : undefined;
    const body = readRequest(text, only, limits);
    for (const { request } of body.items) requireRules(request.domain);
    return body;
  }

  function asking(ask: (read: ReadRequest) => Promise<string>): TextCall {
    return async (text) => await answerEach(requestsIn(text), ask);
  }

  function giving(give: (holding: Holding) => Promise<string>, settles = false): TextCall {
    return async (text) => {
      const body = readHoldings(text, limits, settles);
      for (const { held } of body.items) requireRules(held.domain);
      return await answerEach(body, give);
    };
  }

  /** Changes the counters of a body's requests; resolves to how many. */
  async function changed(
    { items }: Body<ReadRequest>,
    change: (read: ReadRequest, index: number) => number | Promise<number>,
  ): Promise<number> {
    const counts = await Promise.all(items.map(change));
    return counts.reduce((sum, each) => sum + each, 0);
  }

  /** Blocks the counters of a body's requests, or ends the blocks. */
  function blocking(action: "block" | "unblock"): TextCall {
    return async (text) => {
      const body = requestsIn(text);
      const blocks = action === "block" ? body.items.map(blockOf) : undefined;
      const count = await changed(body, ({ request }, index) => {
        return blocks ? engine.block(request, blocks[index]!.duration) : engine.unblock(request);
      });
      if (count === 0) refuse(409, "no limit of these requests has blockable: true in the rules");
      // The event has no keys, because they are often people's names or addresses.
      log({ event: `keys-${action}ed`, level: "info", count, blocks });
      return jsonResponse(`{"${action}ed":${count}}`);
    };
  }

  return {
    "/v1/consume": asking(async ({ request }) => verdictJson(await engine.consume(request))),
    "/v1/peek": asking(async ({ request }) => verdictJson(await engine.peek(request))),
    "/v1/refund": asking(async ({ request }) => verdictJson(await engine.refund(request))),
    "/v1/hold": asking(async ({ request, map }) => {
      const { verdict, permit } = await engine.hold(request, map["id"] as number | undefined);
      return withHolding(verdict, "permit", permit);
    }),
    "/v1/reserve": asking(async ({ request }) => {
      const { verdict, receipt } = await engine.reserve(request);
      return withHolding(verdict, "receipt", receipt);
    }),
    "/v1/renew": giving(async ({ held }) => `{"held":${await engine.renew(held)}}`),
    "/v1/settle": giving(
      async ({ held, actual }) => settlementJson(await engine.settle(held as RuleReceipt, actual!)),
      true,
    ),
    "/v1/release": giving(async ({ held }) => settlementJson(await engine.release(held))),
    "/v1/reset": async (text) => {
      const count = await changed(requestsIn(text), ({ request }) => engine.reset(request));
      return jsonResponse(`{"reset":${count}}`);
    },
    "/v1/block": blocking("block"),
    "/v1/unblock": blocking("unblock"),
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

/** How long, and why, to block the counters of a request, for the log as well. */
function blockOf({ request: { domain }, map, place }: ReadRequest) {
  const { duration, reason } = map as { readonly duration: never; readonly reason: never };
  try {
    const milliseconds = readPeriod("block", at(place, "duration"), duration);
    return { domain, duration: milliseconds, reason: readReason(reason) };
  } catch (error) {
    return refuse(400, errorText(error));
  }
}
