/*
 * What is looked at before anything of a body is kept, in one order on all runtimes: target, Host,
 * route, method, token, origin, length.
 */

import type { IncomingCall } from "./incoming_call.ts";
import { problemOf, problemResponse, tooLarge } from "./problem_response.ts";
import type { RequestAccess } from "./request_access.ts";
import { type RequestTarget, requestTarget } from "./request_target.ts";
import type { Route } from "./route.ts";
import type { ServiceAnswer } from "./service_answer.ts";

/** What the front step has found: a refusal, or the route of a call that may go on. */
export interface FrontStep {
  readonly target: RequestTarget | undefined;
  readonly route: Route | undefined;
  readonly refusal: ServiceAnswer | undefined;
}

/** Makes the front step of a service. */
export function frontStep(
  routeOf: (path: string) => Route,
  access: RequestAccess,
  maxBody: number,
): (call: IncomingCall) => FrontStep {
  return function look(call) {
    const target = requestTarget(call.target, call.header("host"));
    if (target === undefined) return { target, route: undefined, refusal: noTarget() };
    const route = routeOf(target.path);
    return { target, route, refusal: refusalOf(call, route, access, maxBody) };
  };
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
    if (Number(length) > maxBody) return problemResponse(tooLarge(maxBody));
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
