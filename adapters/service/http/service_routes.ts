/*
 * The routes of the service: for each path, which callers may use it, by which method, and what
 * answers.
 */

import type { RuleEngine } from "../../rules/rules.ts";
import { decideCall } from "../envoy/decide_call.ts";
import { readCall } from "../envoy/read_call.ts";
import type { Log } from "../log.ts";
import type { RulesVersion } from "../rules_version.ts";
import type { Outages } from "../outages.ts";
import type { LiveRequest } from "../metrics/live_document.ts";
import { METRICS_TYPE } from "../metrics/metrics_text.ts";
import type { CallSettings } from "../serve_options.ts";
import { checkCall } from "./check_call.ts";
import type { IncomingCall } from "./incoming_call.ts";
import { engineCalls } from "./engine_calls.ts";
import { PAGE_FILES, pageFile } from "./page_file.ts";
import type { RequestAccess } from "./request_access.ts";
import type { RequestTarget } from "./request_target.ts";
import { jsonResponse, parseJson, refuse, type ServiceAnswer } from "./service_answer.ts";

/** A route of the service. */
export interface Route {
  /**
   * The methods that the route takes, as the field Allow lists them; `undefined` for any method.
   * Only the body of a `POST` is read.
   */
  readonly allow: "POST" | "GET, HEAD" | undefined;
  /**
   * Whether a call must have the token, if there is one, because it changes something or shows
   * keys. Such calls are counted by their path.
   */
  readonly needsToken: boolean;
  readonly answer: (
    call: IncomingCall,
    target: RequestTarget,
    text: string,
  ) => ServiceAnswer | Promise<ServiceAnswer>;
}

/** The options of routes. */
export interface ServiceRoutesOptions
  extends Pick<CallSettings, "limits" | "trustedProxies" | "ipv6Prefix" | "responseHeaders"> {
  readonly access: RequestAccess;
  /** The metrics of all threads, or the document of the page, as text. */
  readonly show: (what: "metrics" | LiveRequest) => string | Promise<string>;
  /** Whether the service takes calls; `false` once it is stopping. */
  readonly isReady: () => boolean;
  readonly outages: Pick<Outages, "since" | "isFresh">;
  readonly version: () => RulesVersion;
  readonly log: Log;
}

/** Makes the function that finds the route of a path. */
export function serviceRoutes(
  engine: RuleEngine,
  options: ServiceRoutesOptions,
): (path: string) => Route {
  const { limits, show, access, responseHeaders, log } = options;
  const isReady = () => options.isReady() && engine.rules.domains.size > 0;

  const posts = Object.entries(engineCalls(engine, limits, log));
  const files = Object.entries(PAGE_FILES);
  const routes = new Map(Object.entries<Route>({
    ...Object.fromEntries(posts.map(([path, answer]) => [path, postRoute(answer)])),
    ...Object.fromEntries(files.map(([path, file]) => [path, getRoute(() => pageFile(...file))])),
    "/json": postRoute(async (text) => {
      const call = readCall(parseJson(text), limits);
      const answer = await decideCall(engine, call, responseHeaders);
      return jsonResponse(JSON.stringify(answer), answer.overallCode === "OK" ? 200 : 429);
    }),
    "/check": { allow: undefined, needsToken: true, answer: checkCall(engine, options) },
    "/healthz": getRoute(() => textAnswer("ok\n")),
    "/readyz": getRoute((_call, { query }) => {
      const required = new URLSearchParams(query).get("store") === "required";
      return readiness(isReady(), required, options);
    }),
    "/metrics": getRoute(async () => textAnswer(await show("metrics"), 200, METRICS_TYPE)),
    // Keys are often people's names or addresses: the page shows them only to callers who may
    // write.
    "/v1/live": getRoute(async (call, { query }) => {
      const search = new URLSearchParams(query).get("search")?.slice(0, LONGEST_SEARCH) ?? "";
      return jsonResponse(await show({ search, own: access.isOwn(call) }));
    }),
  }));
  return (path) => routes.get(path) ?? NO_ROUTE;
}

/**
 * Whether a service is ready, which rules it has, and whether its store answers. Without the store
 * only callers that require it get a refusal, because a policy decides in its place, and other
 * services lack the store as well. A service without calls would never learn that the store is
 * back, so a past outage causes no refusal.
 */
function readiness(
  isReady: boolean,
  required: boolean,
  { outages, version }: Pick<ServiceRoutesOptions, "outages" | "version">,
): ServiceAnswer {
  if (!isReady) return textAnswer("not ready\n", 503);
  const { hash, since } = version();
  const rules = `rules ${hash} since ${new Date(since).toISOString()}\n`;
  if (outages.since() === 0) return textAnswer(`ready\n${rules}`);
  const store = `the store has not answered since ${new Date(outages.since()).toISOString()}\n`;
  const isAway = required && outages.isFresh();
  return textAnswer(`${isAway ? "not ready" : "ready"}\n${rules}${store}`, isAway ? 503 : 200);
}

/** A route that answers a call with a body. */
function postRoute(answer: (text: string) => Promise<ServiceAnswer>): Route {
  return { allow: "POST", needsToken: true, answer: (_call, _target, text) => answer(text) };
}

/** A route that shows something to every caller. */
function getRoute(answer: Route["answer"]): Route {
  return { allow: "GET, HEAD", needsToken: false, answer };
}

/** Answers an unknown path: 404, whatever the method. */
const NO_ROUTE: Route = {
  allow: undefined,
  needsToken: false,
  answer: () => refuse(404, "there is nothing here"),
};

function textAnswer(
  body: string,
  status = 200,
  type = "text/plain; charset=utf-8",
): ServiceAnswer {
  return { status, headers: { "content-type": type }, body };
}

/** The longest text that is searched for. */
const LONGEST_SEARCH = 256;
