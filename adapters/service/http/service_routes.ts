/*
 * The routes of the service: of each path who may call it, by which method, and what answers.
 */

import { allOf, andThen, type MaybePromise } from "../../../core/toolkit.ts";
import type { RuleEngine, RuleRequest } from "../../rules/rules.ts";
import { decideCall, jsonOfAnswer } from "../envoy/decide_call.ts";
import { readCall } from "../envoy/read_call.ts";
import { METRICS_TYPE } from "../metrics/metrics_text.ts";
import type { CallSettings } from "../serve_options.ts";
import { checkCall } from "./check_call.ts";
import type { IncomingCall } from "./incoming_call.ts";
import { pageFile } from "./page_file.ts";
import { readRequest } from "./read_request.ts";
import type { RequestAccess } from "./request_access.ts";
import type { RequestLimits } from "./request_bounds.ts";
import type { LiveRequest } from "../metrics/live_document.ts";
import type { RequestTarget } from "./request_target.ts";
import { jsonResponse, parseJson, problemOf, type ServiceAnswer } from "./service_answer.ts";
import { type VerdictFields, verdictFields } from "./verdict_fields.ts";
import { verdictJson } from "./verdict_json.ts";

/** A route of the service. */
export interface Route {
  /** What its calls are counted as. */
  readonly name: string;
  /** The methods that it takes, as the field Allow lists them; any of them if `undefined`. */
  readonly allow: "POST" | "GET, HEAD" | undefined;
  /** Whether a call must bring the token, where there is one: to change anything, or to see a key. */
  readonly needsToken: boolean;
  /** Answers a call that has no body, or whose body is of no interest. */
  readonly answer?: ReturnType<typeof checkCall> | undefined;
  /** Answers a body. */
  readonly answerBody?: ((text: string) => MaybePromise<ServiceAnswer>) | undefined;
}

/** What a request wants of the counters. */
type RequestAction = "consume" | "peek" | "refund" | "reset";

/** What routes need. */
export interface RouteOptions
  extends Pick<CallSettings, "limits" | "trustedProxies" | "ipv6Prefix" | "responseHeaders"> {
  readonly access: RequestAccess;
  /** What the metrics of all threads are, or what the page shows, as text. */
  readonly show: (what: "metrics" | LiveRequest) => MaybePromise<string>;
  /** Whether the service takes calls: no more once it is stopping. */
  readonly isReady: () => boolean;
}

const BODY_ROUTE = { allow: "POST", needsToken: true } as const;

const ACTIONS: readonly RequestAction[] = ["consume", "peek", "refund", "reset"];

/** Makes what finds the route of a path. */
export function serviceRoutes(
  engine: RuleEngine,
  options: RouteOptions,
): (path: string) => Route {
  const { limits, show } = options;
  const fieldsOf = options.responseHeaders ? verdictFields() : undefined;
  const named: readonly Route[] = [
    ...ACTIONS.map((action): Route => ({
      ...BODY_ROUTE,
      name: `/v1/${action}`,
      answerBody: (text) => answerVerdicts(engine, limits, action, text),
    })),
    {
      ...BODY_ROUTE,
      name: "/json",
      answerBody: (text) => answerEnvoy(engine, limits, text, fieldsOf),
    },
    { name: "/check", allow: undefined, needsToken: true, answer: checkCall(engine, options) },
  ];
  const routes = new Map<string, Route>([
    ...named.map((route) => [route.name, route] as const),
    ["/healthz", getRoute(() => textAnswer("ok\n"))],
    ["/readyz", getRoute(() => readiness(options.isReady() && engine.rules.domains.size > 0))],
    [
      "/metrics",
      getRoute(() => andThen(show("metrics"), (text) => textAnswer(text, 200, METRICS_TYPE))),
    ],
    ["/v1/live", getRoute((call, target) => live(options, call, target))],
  ]);
  return (path) => routes.get(path) ?? FILE_ROUTE;
}

/** A route that shows something to anybody. */
function getRoute(answer: Route["answer"]): Route {
  return { name: "other", allow: "GET, HEAD", needsToken: false, answer };
}

const FILE_ROUTE: Route = getRoute((_call, { path }) =>
  pageFile(path) ?? problemOf(404, "there is nothing here")
);

function readiness(isReady: boolean): ServiceAnswer {
  return isReady ? textAnswer("ready\n") : textAnswer("not ready\n", 503);
}

function textAnswer(
  body: string,
  status = 200,
  type = "text/plain; charset=utf-8",
): ServiceAnswer {
  return { status, headers: { "content-type": type }, body };
}

/** The longest text that is searched for. */
const LONGEST_SEARCH = 256;

/** What the page shows. Keys are often people's names or addresses: they are for those who may write. */
function live(
  { access, show }: RouteOptions,
  call: IncomingCall,
  { query }: RequestTarget,
): MaybePromise<ServiceAnswer> {
  const search = new URLSearchParams(query).get("search")?.slice(0, LONGEST_SEARCH) ?? "";
  return andThen(show({ search, own: access.isOwn(call) }), (text) => jsonResponse(text));
}

/** Answers a body with one request, or with a list of them. */
function answerVerdicts(
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
function answerEnvoy(
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
