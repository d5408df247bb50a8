/*
 * The HTTP side of the service: a function from calls to responses that runs on any server. It
 * finds the route, refuses calls that the route does not serve, and counts every call. Every check
 * of a call's head comes before any part of the body is kept, in the same order on all runtimes:
 * target, Host, route, method, token, origin, length.
 *
 * Its work is counted in microseconds, so it looks at the path by hand and reads only the header
 * fields that it needs.
 */

import { isStoreError } from "../../../core/application_support.ts";
import type { RuleEngine } from "../../rules/rules.ts";
import { type Figures, OTHER_CALLS } from "../metrics/figures.ts";
import type { CallSettings } from "../serve_options.ts";
import type { IncomingCall } from "./incoming_call.ts";
import { type RequestAccess, requestAccess } from "./request_access.ts";
import { type RequestTarget, requestTarget } from "./request_target.ts";
import {
  asRefusal,
  problemAnswer,
  refusalOf,
  refuse,
  type ServiceAnswer,
  tooLarge,
} from "./service_answer.ts";
import { type Route, serviceRoutes, type ServiceRoutesOptions } from "./service_routes.ts";

/** The options of `serviceHandler`. */
export interface ServiceHandlerOptions extends CallSettings, Omit<ServiceRoutesOptions, "access"> {
  /** The figures of this thread. */
  readonly figures: Figures;
  /** Receives errors that no client caused. */
  readonly onError: (error: unknown) => void;
}

/** From calls to responses. */
export type ServiceHandler = (call: IncomingCall) => Promise<ServiceAnswer>;

/** Makes the handler of a service. */
export function serviceHandler(engine: RuleEngine, options: ServiceHandlerOptions): ServiceHandler {
  const { maxBody, figures, onError, isReady } = options;
  const access = requestAccess(options.token);
  const routeOf = serviceRoutes(engine, { ...options, access });

  function failed(error: unknown): ServiceAnswer {
    const refusal = asRefusal(error);
    if (refusal !== undefined) return problemAnswer(refusal);
    onError(error);
    return problemAnswer(
      isStoreError(error)
        ? refusalOf(503, "the store does not answer", { "retry-after": "1" })
        : refusalOf(500, "an internal error, which is in the log"),
    );
  }

  return async function handle(call) {
    const start = performance.now();
    let target: RequestTarget;
    let route: Route | undefined;

    function counted(answer: ServiceAnswer): ServiceAnswer {
      const name = route?.needsToken === true ? target.path : OTHER_CALLS;
      figures.call(name, answer.status, (performance.now() - start) / 1_000);
      // Clients that keep connections should move to other services while this service still
      // answers.
      return isReady()
        ? answer
        : { ...answer, headers: { ...answer.headers, connection: "close" } };
    }

    try {
      target = requestTarget(call.target, call.header("host"));
      route = routeOf(target.path);
      checkHead(call, route, access, maxBody);
      const text = route.allow === "POST" ? await bodyOf(call, maxBody) : "";
      return counted(await route.answer(call, target, text));
    } catch (error) {
      return counted(failed(error));
    }
  };
}

async function bodyOf(call: IncomingCall, most: number): Promise<string> {
  try {
    return await call.body(most);
  } catch (error) {
    throw asRefusal(error) ?? refusalOf(400, "the body could not be read");
  }
}

/** Refuses a call that its route does not serve. */
function checkHead(
  call: IncomingCall,
  { allow, needsToken }: Route,
  access: RequestAccess,
  maxBody: number,
): void {
  const { method } = call;
  const reads = allow !== "POST" && (method === "GET" || method === "HEAD");
  if (allow !== undefined && allow !== method && !reads) {
    refuse(405, `nothing at this path takes this method: it must be ${allow}`, { allow });
  }
  if (needsToken && !access.mayWrite(call)) {
    const detail = "send the token as Authorization: Bearer, or as X-Tidegate-Token";
    refuse(401, detail, { "www-authenticate": "Bearer" });
  }
  if (allow === "POST" && access.isForeign(call)) refuse(403, "the Origin is another site");
  checkFraming(call, maxBody);
}

/** Refuses a body that cannot be read. Servers differ in what they check themselves. */
function checkFraming({ header }: IncomingCall, maxBody: number): void {
  const length = header("content-length");
  if (length !== null) {
    if (!/^\d+$/.test(length)) refuse(400, "Content-Length must be a number");
    if (Number(length) > maxBody) throw tooLarge(maxBody);
  }
  const encoding = header("transfer-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "chunked") {
    refuse(400, "Transfer-Encoding must be chunked");
  }
  const expected = header("expect");
  if (expected !== null && expected.toLowerCase() !== "100-continue") {
    refuse(417, "Expect must be 100-continue");
  }
}
