/*
 * The HTTP side of the service: a function from requests to responses, that runs on any server that
 * speaks fetch. It finds the route, refuses whom the route does not serve, and counts every call.
 *
 * Its work is counted in microseconds, so it looks at the path by hand and reads only the header
 * fields that it needs.
 */

import {
  andThen,
  isPromise,
  isStoreError,
  type MaybePromise,
  orElse,
} from "../../../core/toolkit.ts";
import { isTooManyLimits, type RuleEngine } from "../../rules/rules.ts";
import type { Figures } from "../metrics/figures.ts";
import type { CallSettings } from "./call_settings.ts";
import { problemOf, problemResponse } from "./problem_response.ts";
import { readBody } from "./read_body.ts";
import { type RequestAccess, requestAccess } from "./request_access.ts";
import { requestTarget } from "./request_target.ts";
import type { Route } from "./route.ts";
import { type RouteOptions, serviceRoutes } from "./service_routes.ts";

/** The options of `serviceHandler`. */
export interface ServiceHandlerOptions
  extends CallSettings, Pick<RouteOptions, "allFigures" | "isReady"> {
  /** What this thread counts. */
  readonly figures: Figures;
  /** Receives errors that no client caused. */
  readonly onError: (error: unknown) => void;
}

/** From requests to responses; `peer` returns the address of the socket's other end. */
export type ServiceHandler = (
  request: Request,
  peer: () => string | undefined,
) => Response | Promise<Response>;

/** Makes the handler of a service. */
export function serviceHandler(engine: RuleEngine, options: ServiceHandlerOptions): ServiceHandler {
  const { maxBody, figures, onError } = options;
  const access = requestAccess(options.token);
  const routeOf = serviceRoutes(engine, { ...options, access });
  const failed = (error: unknown) => failure(error, onError);

  return function handle(request, peer) {
    const start = performance.now();
    const target = requestTarget(request);
    const route = target === undefined ? undefined : routeOf(target.path);

    function counted(response: Response): Response {
      figures.call(route?.name ?? "other", response.status, (performance.now() - start) / 1_000);
      return response;
    }

    if (target === undefined || route === undefined) return counted(noTarget());
    const refusal = refusalOf(request, route, access);
    if (refusal !== undefined) return counted(refusal);
    const { answer, answerBody } = route;
    if (answerBody === undefined) {
      return ended(andThen(orElse(() => answer!({ request, target, peer }), failed), counted));
    }
    // One step after the body is there, and none more: each costs as much as a decision.
    return readBody(request, maxBody).then(
      (text) =>
        typeof text === "string"
          ? andThen(orElse(() => answerBody(text), failed), counted)
          : counted(problemResponse(text)),
      () => counted(problemOf(400, "the body could not be read")),
    );
  };
}

/** Servers take no promises but the language's own. */
function ended(response: MaybePromise<Response>): Response | Promise<Response> {
  return isPromise(response) ? Promise.resolve(response) : response;
}

/** What answers a request that its route does not serve; `undefined` if it does. */
function refusalOf(request: Request, route: Route, access: RequestAccess): Response | undefined {
  const { allow, needsToken, answerBody } = route;
  const { method } = request;
  if (allow !== undefined && !isAllowed(method, allow)) {
    return problemOf(405, `the method must be ${allow}`, { allow });
  }
  if (needsToken && !access.mayWrite(request)) {
    const detail = "send the token as Authorization: Bearer, or as X-Tidegate-Token";
    return problemOf(401, detail, { "www-authenticate": "Bearer" });
  }
  return answerBody !== undefined && access.isForeign(request)
    ? problemOf(403, "the Origin is another site")
    : undefined;
}

function isAllowed(method: string, allow: "POST" | "GET, HEAD"): boolean {
  return allow === "POST" ? method === "POST" : method === "GET" || method === "HEAD";
}

function noTarget(): Response {
  const detail = "the Host field must be a host, with or without a port, and the target a path";
  return problemOf(400, detail);
}

/** What answers a request whose decision failed. */
function failure(error: unknown, onError: (error: unknown) => void): Response {
  if (isTooManyLimits(error)) return problemOf(400, error.message);
  onError(error);
  return isStoreError(error)
    ? problemOf(503, "the store does not answer", { "retry-after": "1" })
    : problemOf(500, "an error that is logged");
}
