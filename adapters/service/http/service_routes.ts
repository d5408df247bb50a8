/*
 * The routes of the service: of each path who may call it, by which method, and what answers.
 */

import { andThen, type MaybePromise } from "../../../core/toolkit.ts";
import type { RuleEngine } from "../../rules/rules.ts";
import { METRICS_TYPE } from "../metrics/metrics_text.ts";
import { answerEnvoy, answerVerdicts, type RequestAction } from "./answer_verdicts.ts";
import type { CallSettings } from "../serve_options.ts";
import { checkCall } from "./check_call.ts";
import type { IncomingCall } from "./incoming_call.ts";
import { pageFile } from "./page_file.ts";
import type { RequestAccess } from "./request_access.ts";
import type { LiveRequest } from "../metrics/live_document.ts";
import type { RequestTarget } from "./request_target.ts";
import { jsonResponse, problemOf, type ServiceAnswer } from "./service_answer.ts";
import { verdictFields } from "./verdict_fields.ts";

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
