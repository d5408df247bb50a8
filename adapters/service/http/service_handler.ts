/*
 * The HTTP side of the service: a function from calls to responses, that runs on any server that
 * there is. It finds the route, refuses whom the route does not serve, and counts every call.
 *
 * Its work is counted in microseconds, so it looks at the path by hand and reads only the header
 * fields that it needs.
 */

import { andThen, isStoreError, type MaybePromise, orElse } from "../../../core/toolkit.ts";
import { isTooManyLimits, type RuleEngine } from "../../rules/rules.ts";
import type { Figures } from "../metrics/figures.ts";
import type { CallSettings } from "./call_settings.ts";
import { frontStep } from "./front_step.ts";
import type { IncomingCall } from "./incoming_call.ts";
import { problemOf, problemResponse } from "./problem_response.ts";
import { requestAccess } from "./request_access.ts";
import type { ServiceAnswer } from "./service_answer.ts";
import { type RouteOptions, serviceRoutes } from "./service_routes.ts";

/** The options of `serviceHandler`. */
export interface ServiceHandlerOptions
  extends CallSettings, Pick<RouteOptions, "allFigures" | "live" | "isReady"> {
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
  const look = frontStep(serviceRoutes(engine, { ...options, access }), access, maxBody);
  const failed = (error: unknown) => failure(error, onError);

  return function handle(call) {
    const start = performance.now();
    const { target, route, refusal } = look(call);

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
          : counted(problemResponse(text)),
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
