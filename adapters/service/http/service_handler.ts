/*
 * The HTTP side of the service: a function from requests to responses, that runs on any server that
 * speaks fetch.
 *
 * Its work is counted in microseconds, so it looks at the path by hand, reads only the header fields
 * that it needs, and puts the common answer together as text.
 */

import { allOf, andThen, isPromise, type MaybePromise } from "../../../core/toolkit.ts";
import { addressKey, type ClientAddress, clientAddress } from "../../http/http.ts";
import {
  isTooManyLimits,
  type RuleEngine,
  type RuleRequest,
  type Verdict,
} from "../../rules/rules.ts";
import { checkCall } from "./check_call.ts";
import { decideCall, faultOfCall } from "../envoy/envoy_call.ts";
import { callOfJson, jsonOfAnswer } from "../envoy/envoy_json.ts";
import type { Figures, FiguresSnapshot } from "../metrics/figures.ts";
import { METRICS_TYPE, metricsText } from "../metrics/metrics_text.ts";
import { pageFile } from "./page_file.ts";
import { type HttpFault, httpFault, problemResponse } from "./problem_response.ts";
import { readBody } from "./read_body.ts";
import {
  readRequest,
  REQUEST_LIMITS,
  type RequestBody,
  type RequestLimits,
} from "./read_request.ts";
import { type RequestTarget, requestTarget } from "./request_target.ts";
import type { RequestHead } from "./forwarded_request.ts";
import { tokenCheck } from "./token_check.ts";
import { verdictJson } from "./verdict_json.ts";

/** The options of `serviceHandler`. */
export interface ServiceHandlerOptions {
  /** What calls must bring to change anything; without it all of them may. */
  readonly token?: string | undefined;
  /** The most bytes of a body; default 1 MiB. */
  readonly maxBody?: number | undefined;
  /** How much a body may ask for. */
  readonly limits?: Partial<RequestLimits> | undefined;
  /** The proxies whose word on a client's address is believed; default those on this machine. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** What this thread counts. */
  readonly figures: Figures;
  /** What all threads have counted. */
  readonly allFigures: () => MaybePromise<FiguresSnapshot>;
  /** Whether the service takes calls: no more once it is stopping. */
  readonly isReady: () => boolean;
  /** Told of errors that no client caused. */
  readonly onError: (error: unknown) => void;
}

/** From requests to responses; `peer` tells the address of the socket's other end. */
export type ServiceHandler = (
  request: Request,
  peer: () => string | undefined,
) => Response | Promise<Response>;

type RequestAction = "consume" | "peek" | "refund" | "reset";

const JSON_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "cache-control": "no-store",
};

/** The routes that ask for verdicts. */
const ACTIONS: Readonly<Record<string, RequestAction>> = {
  "/v1/consume": "consume",
  "/v1/peek": "peek",
  "/v1/refund": "refund",
  "/v1/reset": "reset",
};

/** What answers a body. */
type BodyAnswer = (text: string) => MaybePromise<Response>;

/** Makes the handler of a service. */
export function serviceHandler(engine: RuleEngine, options: ServiceHandlerOptions): ServiceHandler {
  const { token, maxBody = 2 ** 20, figures, allFigures, isReady, onError } = options;
  const limits = { ...REQUEST_LIMITS, ...options.limits };
  const behindProxies = clientAddress({ trustedProxies: options.trustedProxies ?? ["loopback"] });
  // A proxy that tells no client is limited itself: rules by address must not be passed by silence.
  const addressOf: ClientAddress = (peer, field) => addressKey(behindProxies(peer, field) ?? peer);
  const check = checkCall(engine, addressOf, limits.maxText);
  const mayWriteBy = tokenCheck(token);

  const ways = new Map(
    Object.entries(ACTIONS).map(([path, way]) => [
      path,
      { writes: way !== "peek", answer: (text: string) => decide(text, way) },
    ]),
  );

  function mayWrite({ headers }: Request): boolean {
    return mayWriteBy((name) => headers.get(name));
  }

  /** Whether a browser may have been led here by a name of somebody else's; a token tells it apart. */
  function isLedHere({ headers }: Request): boolean {
    return token === undefined && !isNoName(headers.get("host") ?? "");
  }

  /** The answer to a body that asks for verdicts. */
  function decide(text: string, way: RequestAction): MaybePromise<Response> {
    const { domains } = engine.rules;
    const asked = readRequest(
      text,
      domains.size === 1 ? domains.keys().next().value : undefined,
      limits,
    );
    if (!("many" in asked)) return problemResponse(asked);
    const unknown = unknownDomain(asked);
    if (unknown !== undefined) return problemResponse(unknown);
    if (way === "reset") return reset(asked);
    if (!asked.many) return andThen(engine[way](asked.request), verdictResponse);
    return andThen(allOf(asked.requests.map(engine[way])), verdictsResponse);
  }

  function unknownDomain(asked: RequestBody): HttpFault | undefined {
    const { domains } = engine.rules;
    if (!asked.many) return domainFault(asked.request);
    for (const request of asked.requests) {
      const fault = domainFault(request);
      if (fault !== undefined) return fault;
    }
    return undefined;

    function domainFault({ domain }: RuleRequest): HttpFault | undefined {
      if (domains.has(domain)) return undefined;
      return httpFault(
        404,
        `there are no rules for the domain ${JSON.stringify(domain.slice(0, 100))}`,
      );
    }
  }

  async function reset(asked: RequestBody): Promise<Response> {
    const requests = asked.many ? asked.requests : [asked.request];
    const counts = await Promise.all(requests.map((request) => engine.reset(request)));
    const count = counts.reduce((sum, each) => sum + each, 0);
    return new Response(`{"reset":${count}}`, { headers: JSON_HEADERS });
  }

  async function envoyJson(text: string): Promise<Response> {
    const call = callOfJson(text, limits);
    if (typeof call === "string") return problemResponse(httpFault(400, call));
    const fault = faultOfCall(call);
    if (fault !== undefined) return problemResponse(httpFault(400, fault));
    const answer = await decideCall(engine, call);
    const status = answer.overallCode === "OK" ? 200 : 429;
    return new Response(jsonOfAnswer(answer), { status, headers: JSON_HEADERS });
  }

  async function live(request: Request): Promise<Response> {
    const { rules, keys, threads, store } = await allFigures();
    // Keys are often people's names or addresses: they are for those who may write.
    const shown = mayWrite(request) && !isLedHere(request) ? keys : undefined;
    const domains = [...engine.rules.domains.keys()];
    const body = JSON.stringify({ domains, rules, keys: shown, threads, store });
    return new Response(body, { headers: JSON_HEADERS });
  }

  /**
   * The page, limited by the rules like any other: one who reloads it for ever is a client, too. Its
   * files and figures are not, so that a page that is open goes on. Who may change nothing takes no
   * units by it either.
   */
  async function page(request: Request, peer: string | undefined): Promise<Response> {
    const file = await pageFile("/")!;
    const mayTake = mayWrite(request) && !isLedHere(request);
    if (engine.rules.routes.size !== 1 || !mayTake) return file;
    const verdict = await check(asItself(request), new URLSearchParams(), peer);
    if (verdict.status !== 200) return verdict;
    verdict.headers.forEach((value, name) => file.headers.set(name, value));
    return file;
  }

  /** What answers a call: a response, or what takes the body and makes one. */
  function route(
    request: Request,
    { path, query }: RequestTarget,
    peer: () => string | undefined,
  ): MaybePromise<Response> | BodyAnswer {
    const { method } = request;
    const wanted = ways.get(path);
    if (wanted !== undefined || path === "/json") {
      if (method !== "POST") return wrongMethod("POST");
      if (wanted?.writes !== false && !mayWrite(request)) return noToken();
      if (isForeign(request, token !== undefined)) {
        return problemResponse(httpFault(403, "the Origin is another site"));
      }
      return wanted === undefined ? envoyJson : wanted.answer;
    }
    if (path === "/check") {
      if (!mayWrite(request)) return noToken();
      return check(request, new URLSearchParams(query), peer());
    }
    if (method !== "GET" && method !== "HEAD") return wrongMethod("GET, HEAD");
    switch (path) {
      case "/":
        return page(request, peer());
      case "/healthz":
        return new Response("ok\n");
      case "/readyz":
        return isReady() && engine.rules.domains.size > 0
          ? new Response("ready\n")
          : new Response("not ready\n", { status: 503 });
      case "/metrics":
        return andThen(
          allFigures(),
          (all) => new Response(metricsText(all), { headers: { "content-type": METRICS_TYPE } }),
        );
      case "/v1/live":
        return live(request);
      default:
        return pageFile(path) ?? problemResponse(httpFault(404, "there is nothing here"));
    }
  }

  function failed(error: unknown): Response {
    if (isTooManyLimits(error)) return problemResponse(httpFault(400, error.message));
    onError(error);
    const name = error instanceof Error ? error.name : "";
    return STORE_ERRORS.has(name)
      ? problemResponse(httpFault(503, "the store does not answer"), { "retry-after": "1" })
      : problemResponse(httpFault(500, "an error that is logged"));
  }

  return function handle(request, peer) {
    const start = performance.now();
    const target = requestTarget(request);
    let answer: MaybePromise<Response> | BodyAnswer;
    try {
      answer = target === undefined ? noTarget() : route(request, target, peer);
    } catch (error) {
      return counted(failed(error));
    }
    if (typeof answer === "function") {
      const answerBody = answer;
      // One step after the body is there, and none more: each costs as much as a decision.
      return readBody(request, maxBody).then((text) => {
        if (typeof text !== "string") return counted(problemResponse(text));
        try {
          return settled(answerBody(text));
        } catch (error) {
          return counted(failed(error));
        }
      }, () => counted(problemResponse(httpFault(400, "the body could not be read"))));
    }
    return settled(answer);

    function settled(response: MaybePromise<Response>): Response | Promise<Response> {
      return isPromise(response)
        ? Promise.resolve(response).then(counted, (error) => counted(failed(error)))
        : counted(response);
    }

    function counted(response: Response): Response {
      const known = target !== undefined && COUNTED.has(target.path) ? target.path : "other";
      figures.call(known, response.status, (performance.now() - start) / 1_000);
      return response;
    }
  };
}

function verdictResponse(verdict: Verdict): Response {
  return new Response(verdictJson(verdict), { headers: JSON_HEADERS });
}

function verdictsResponse(verdicts: readonly Verdict[]): Response {
  return new Response(`[${verdicts.map(verdictJson).join(",")}]`, { headers: JSON_HEADERS });
}

/** The routes that are counted by name. */
const COUNTED: ReadonlySet<string> = new Set([...Object.keys(ACTIONS), "/json", "/check"]);

/** The errors of stores that cannot answer. */
const STORE_ERRORS: ReadonlySet<string> = new Set([
  "StoreUnavailableError",
  "ContentionError",
  "StoreFullError",
]);

/** The request as one for the service itself: without what a proxy would say of another one. */
function asItself({ headers }: Request): RequestHead {
  const own = new Headers(headers);
  for (const name of ["uri", "method"]) {
    own.delete(`x-original-${name}`);
    own.delete(`x-forwarded-${name}`);
  }
  return { method: "GET", headers: own };
}

/**
 * Whether a browser sent it for a page of another site. A name that somebody else owns may lead to
 * this machine (DNS rebinding), and its pages are then of the same origin: so without a token a
 * browser must have come by an address, or by `localhost`.
 */
function isForeign({ headers }: Request, hasToken: boolean): boolean {
  const origin = headers.get("origin");
  if (origin === null) return false;
  if (!URL.canParse(origin)) return true;
  const { host } = new URL(origin);
  return host !== headers.get("host") || !(hasToken || isNoName(host));
}

/** Whether a host, with its port or without, is an address or `localhost`. */
function isNoName(host: string): boolean {
  return /^(localhost|[0-9.]+|\[[0-9a-f:.]+\])(:\d+)?$/i.test(host);
}

function noTarget(): Response {
  const detail = "the Host field must be a host, with or without a port, and the target a path";
  return problemResponse(httpFault(400, detail));
}

function wrongMethod(allow: string): Response {
  return problemResponse(httpFault(405, `the method must be ${allow}`), { allow });
}

function noToken(): Response {
  const detail = "send the token as Authorization: Bearer, or as X-Tidegate-Token";
  return problemResponse(httpFault(401, detail), { "www-authenticate": "Bearer" });
}
