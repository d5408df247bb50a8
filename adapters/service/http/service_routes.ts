/*
 * The routes of the service: for each path, which callers may use it, by which method, and what
 * answers.
 */

import { readPeriod, readReason } from "../../../core/application_support.ts";
import type { RuleEngine, RuleRequest } from "../../rules/rules.ts";
import { decideCall } from "../envoy/decide_call.ts";
import { readCall } from "../envoy/read_call.ts";
import { errorText, type Log } from "../log.ts";
import type { RulesVersion } from "../rules_version.ts";
import type { Outages } from "../outages.ts";
import type { LiveRequest } from "../metrics/live_document.ts";
import { METRICS_TYPE } from "../metrics/metrics_text.ts";
import type { CallSettings } from "../serve_options.ts";
import { checkCall } from "./check_call.ts";
import type { IncomingCall } from "./incoming_call.ts";
import { holdingRoutes } from "./holding_routes.ts";
import { pageFile } from "./page_file.ts";
import { at, type ReadRequest, readRequest } from "./read_request.ts";
import type { RequestAccess } from "./request_access.ts";
import type { RequestTarget } from "./request_target.ts";
import {
  answerEach,
  type Body,
  jsonResponse,
  parseJson,
  refuse,
  type ServiceAnswer,
} from "./service_answer.ts";
import { verdictJson } from "./verdict_json.ts";

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

  /** Changes the counters of some requests; resolves to how many. */
  async function changed(
    items: readonly ReadRequest[],
    change: (request: RuleRequest, index: number) => number | Promise<number>,
  ): Promise<number> {
    const counts = await Promise.all(items.map(({ request }, index) => change(request, index)));
    return counts.reduce((sum, each) => sum + each, 0);
  }

  /** Blocks the counters of a body's requests, or ends the blocks. */
  function blocking(action: "block" | "unblock"): Route {
    return postRoute(async (text) => {
      const { items } = requestsIn(text);
      const terms = action === "block" ? items.map(blockTerms) : undefined;
      const count = await changed(
        items,
        (request, index) =>
          terms === undefined
            ? engine.unblock(request)
            : engine.block(request, terms[index]!.duration),
      );
      if (count === 0) refuse(409, "no limit of these requests has blockable: true in the rules");
      // The event has no keys, because they are often people's names or addresses.
      log({ event: `keys-${action}ed`, level: "info", count, blocks: terms });
      return jsonResponse(`{"${action}ed":${count}}`);
    });
  }

  const routes = new Map<string, Route>([
    ...(["consume", "peek", "refund"] as const).map((action) => {
      const decide = async ({ request }: ReadRequest) => verdictJson(await engine[action](request));
      return [
        `/v1/${action}`,
        postRoute(async (text) => await answerEach(requestsIn(text), decide)),
      ] as const;
    }),
    [
      "/v1/reset",
      postRoute(async (text) =>
        jsonResponse(`{"reset":${await changed(requestsIn(text).items, engine.reset)}}`)
      ),
    ],
    ["/v1/block", blocking("block")],
    ["/v1/unblock", blocking("unblock")],
    ...Object.entries(holdingRoutes(engine, limits, requestsIn, requireRules))
      .map(([path, answer]) => [path, postRoute(answer)] as const),
    [
      "/json",
      postRoute(async (text) => {
        const call = readCall(parseJson(text), limits);
        const answer = await decideCall(engine, call, responseHeaders);
        return jsonResponse(JSON.stringify(answer), answer.overallCode === "OK" ? 200 : 429);
      }),
    ],
    ["/check", { allow: undefined, needsToken: true, answer: checkCall(engine, options) }],
    ["/healthz", getRoute(() => textAnswer("ok\n"))],
    [
      "/readyz",
      getRoute((_call, { query }) => {
        const required = new URLSearchParams(query).get("store") === "required";
        return readiness(isReady(), required, options);
      }),
    ],
    [
      "/metrics",
      getRoute(async () => textAnswer(await show("metrics"), 200, METRICS_TYPE)),
    ],
    // Keys are often people's names or addresses: the page shows them only to callers who may
    // write.
    [
      "/v1/live",
      getRoute(async (call, { query }) => {
        const search = new URLSearchParams(query).get("search")?.slice(0, LONGEST_SEARCH) ?? "";
        return jsonResponse(await show({ search, own: access.isOwn(call) }));
      }),
    ],
  ]);
  return (path) => routes.get(path) ?? FILE_ROUTE;
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

/** An unknown path is a 404 for every method; only a file of the page knows which ones it takes. */
const FILE_ROUTE: Route = {
  allow: undefined,
  needsToken: false,
  answer({ method }, { path }) {
    const file = pageFile(path) ?? refuse(404, "there is nothing here");
    if (method === "GET" || method === "HEAD") return file;
    const allow = "GET, HEAD";
    return refuse(405, `nothing at this path takes this method: it must be ${allow}`, { allow });
  },
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

/** How long, and why, to block the counters of a request, for the log as well. */
function blockTerms({ request: { domain }, map, place }: ReadRequest) {
  const { duration, reason } = map as { readonly duration: never; readonly reason: never };
  try {
    const milliseconds = readPeriod("block", at(place, "duration"), duration);
    return { domain, duration: milliseconds, reason: readReason(reason) };
  } catch (error) {
    return refuse(400, errorText(error));
  }
}
