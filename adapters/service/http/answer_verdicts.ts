/*
 * The answers of `/v1/consume`, `/v1/peek`, `/v1/refund` and `/v1/reset`, and of Envoy's `/json`: of
 * a body with requests their verdicts.
 */

import { allOf, andThen, type MaybePromise } from "../../../core/toolkit.ts";
import type { RuleEngine, RuleRequest } from "../../rules/rules.ts";
import { decideCall, jsonOfAnswer } from "../envoy/decide_call.ts";
import { readCall } from "../envoy/read_call.ts";
import { readRequest } from "./read_request.ts";
import type { RequestLimits } from "./request_bounds.ts";
import { jsonResponse, parseJson, problemOf, type ServiceAnswer } from "./service_answer.ts";
import type { VerdictFields } from "./verdict_fields.ts";
import { verdictJson } from "./verdict_json.ts";

/** What a request wants of the counters. */
export type RequestAction = "consume" | "peek" | "refund" | "reset";

/** Answers a body with one request, or with a list of them. */
export function answerVerdicts(
  engine: RuleEngine,
  limits: RequestLimits,
  action: RequestAction,
  text: string,
): MaybePromise<ServiceAnswer> {
  const { domains } = engine.rules;
  const body = readRequest(
    text,
    domains.size === 1 ? domains.keys().next().value : undefined,
    limits,
  );
  if (!("many" in body)) return body;
  const { many, requests } = body;
  for (const { domain } of requests) {
    if (domains.has(domain)) continue;
    const name = JSON.stringify(domain.slice(0, 100));
    return problemOf(404, `there are no rules for the domain ${name}`);
  }
  if (action === "reset") return answerReset(engine, requests);
  const decide = engine[action];
  return many
    ? andThen(
      allOf(requests.map((request) => decide(request))),
      (verdicts) => jsonResponse(`[${verdicts.map(verdictJson).join(",")}]`),
    )
    : andThen(decide(requests[0]!), (verdict) => jsonResponse(verdictJson(verdict)));
}

async function answerReset(
  engine: RuleEngine,
  requests: readonly RuleRequest[],
): Promise<ServiceAnswer> {
  const counts = await Promise.all(requests.map((request) => engine.reset(request)));
  return jsonResponse(`{"reset":${counts.reduce((sum, each) => sum + each, 0)}}`);
}

/** Answers a call of Envoy in JSON. */
export function answerEnvoy(
  engine: RuleEngine,
  limits: RequestLimits,
  text: string,
  fieldsOf: VerdictFields | undefined,
): MaybePromise<ServiceAnswer> {
  const data = parseJson(text);
  const call = data === undefined ? "the body must be JSON" : readCall(data, limits);
  if (typeof call === "string") return problemOf(400, call);
  return andThen(
    decideCall(engine, call, fieldsOf),
    (answer) => jsonResponse(jsonOfAnswer(answer), answer.overallCode === "OK" ? 200 : 429),
  );
}
