/*
 * The HTTP side of the service: a function from calls to responses, that runs on any server that
 * there is. It finds the route, refuses whom the route does not serve, and counts every call. All that
 * can be refused by a call's head is, before anything of its body is kept, in one order on all
 * runtimes: target, Host, route, method, token, origin, length.
 *
 * Its work is counted in microseconds, so it looks at the path by hand and reads only the header
 * fields that it needs.
 */

import { andThen, isStoreError, type MaybePromise, orElse } from "../../../core/toolkit.ts";
import { isTooManyLimits, type RuleEngine } from "../../rules/rules.ts";
import type { Figures } from "../metrics/figures.ts";
import type { CallSettings } from "../serve_options.ts";
import type { IncomingCall } from "./incoming_call.ts";
import { type RequestAccess, requestAccess } from "./request_access.ts";
import { requestTarget } from "./request_target.ts";
import { problemOf, type ServiceAnswer, tooLarge } from "./service_answer.ts";
import { type Route, type RouteOptions, serviceRoutes } from "./service_routes.ts";

/** The options of `serviceHandler`. */
export interface ServiceHandlerOptions
  extends CallSettings, Pick<RouteOptions, "show" | "isReady"> {
  /** What this thread counts. */
  readonly figures: Figures;
  /** Receives errors that no client caused. */
  readonly onError: (error: unknown) => void;
}

/** From calls to responses. */
export type ServiceHandler = (call: IncomingCall) => MaybePromise<ServiceAnswer>;

/** Makes the handler of a service. */
export function serviceHandler(engine: RuleEngine, options: ServiceHandlerOptions): ServiceHandler {
  const { maxBody, figures, onError } = options;
  const access = requestAccess(options.token);
  const routeOf = serviceRoutes(engine, { ...options, access });
  const failed = (error: unknown) => failure(error, onError);

  return function handle(call) {
    const start = performance.now();
    const target = requestTarget(call.target, call.header("host"));
    const route = target && routeOf(target.path);
    const refusal = route === undefined ? noTarget() : refusalOf(call, route, access, maxBody);

    function counted(answer: ServiceAnswer): ServiceAnswer {
      figures.call(route?.name ?? "other", answer.status, (performance.now() - start) / 1_000);
      // Clients that keep connections are to go elsewhere while this service still answers.
      return options.isReady()
        ? answer
        : { ...answer, headers: { ...answer.headers, connection: "close" } };
    }

    if (refusal !== undefined) return counted(refusal);
    const { answer, answerBody } = route!;
    if (answerBody === undefined) {
      return andThen(orElse(() => answer!(call, target!), failed), counted);
    }
    // One step after the body is there, and none more: each costs as much as a decision.
    return call.body(maxBody).then(
      (text) =>
        typeof text === "string"
          ? andThen(orElse(() => answerBody(text), failed), counted)
          : counted(text),
      () => counted(problemOf(400, "the body could not be read")),
    );
  };
}

/** What answers a request whose decision failed. */
function failure(error: unknown, onError: (error: unknown) => void): ServiceAnswer {
  if (isTooManyLimits(error)) return problemOf(400, error.message);
  onError(error);
  return isStoreError(error)
    ? problemOf(503, "the store does not answer", { "retry-after": "1" })
    : problemOf(500, "an error that is logged");
}

/** What answers a call that its route does not serve; `undefined` if it does. */
function refusalOf(
  call: IncomingCall,
  { allow, needsToken, answerBody }: Route,
  access: RequestAccess,
  maxBody: number,
): ServiceAnswer | undefined {
  const { method } = call;
  if (allow !== undefined && !isAllowed(method, allow)) {
    return problemOf(405, `the method must be ${allow}`, { allow });
  }
  if (needsToken && !access.mayWrite(call)) {
    const detail = "send the token as Authorization: Bearer, or as X-Tidegate-Token";
    return problemOf(401, detail, { "www-authenticate": "Bearer" });
  }
  if (answerBody !== undefined && access.isForeign(call)) {
    return problemOf(403, "the Origin is another site");
  }
  return framingFault(call, maxBody);
}

/** What answers a call whose body could not be read. Servers differ in what they look at themselves. */
function framingFault({ header }: IncomingCall, maxBody: number): ServiceAnswer | undefined {
  const length = header("content-length");
  if (length !== null) {
    if (!/^\d+$/.test(length)) return problemOf(400, "Content-Length must be a number");
    if (Number(length) > maxBody) return tooLarge(maxBody);
  }
  const encoding = header("transfer-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "chunked") {
    return problemOf(400, "Transfer-Encoding must be chunked");
  }
  const expected = header("expect");
  return expected === null || expected.toLowerCase() === "100-continue"
    ? undefined
    : problemOf(417, "Expect must be 100-continue");
}

function isAllowed(method: string, allow: "POST" | "GET, HEAD"): boolean {
  return allow === "POST" ? method === "POST" : method === "GET" || method === "HEAD";
}

function noTarget(): ServiceAnswer {
  const detail = "the Host field must be a host, with or without a port, and the target a path";
  return problemOf(400, detail);
}
