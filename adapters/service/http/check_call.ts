/*
 * `GET /check`: a proxy asks whether a client's request may go on.
 *
 * The proxy describes the request in header fields (see forwarded_request.ts); `/check?from=nginx`
 * or `?from=forwarded` says in which. The routes of the rules turn it into descriptors. The client's
 * address is that of X-Forwarded-For as far as trusted proxies vouch for it.
 *
 * nginx knows only 2xx, 401 and 403 as answers to `auth_request`; so the status of a refusal can be
 * chosen in the query: `/check?status=403`.
 */

import { andThen, type MaybePromise } from "../../../core/toolkit.ts";
import { clientAddress, problem, PROBLEM_TYPE } from "../../http/http.ts";
import type { RuleEngine, Verdict } from "../../rules/rules.ts";
import type { CallSettings } from "../serve_options.ts";
import { type ForwardedRequest, forwardedRequest } from "./forwarded_request.ts";
import type { IncomingCall } from "./incoming_call.ts";
import { boundsFault, faultText, REQUEST_LIMITS } from "./request_bounds.ts";
import type { RequestTarget } from "./request_target.ts";
import { problemOf, type ServiceAnswer } from "./service_answer.ts";
import { type VerdictFields, verdictFields } from "./verdict_fields.ts";

/** The statuses that a refusal can be given. */
const STATUSES: readonly string[] = ["401", "403", "429", "503"];

/**
 * Makes the check. A request with a value longer than `limits` says is refused, as counters are kept
 * by values and the client chooses them.
 */
export function checkCall(
  engine: RuleEngine,
  { limits, trustedProxies, ipv6Prefix }: Pick<
    CallSettings,
    "limits" | "trustedProxies" | "ipv6Prefix"
  >,
): (call: IncomingCall, target: RequestTarget) => MaybePromise<ServiceAnswer> {
  const { maxText } = limits;
  // How many descriptors and entries there are is for the rules to say.
  const bounds = { ...REQUEST_LIMITS, maxDescriptors: Infinity, maxEntries: Infinity, maxText };
  const addressOf = clientAddress({ trustedProxies });
  const fieldsOf = verdictFields();

  function limit(
    domain: string,
    { method, path }: ForwardedRequest,
    { peer: peerOf, header }: IncomingCall,
    status: number,
  ): MaybePromise<ServiceAnswer> {
    const peer = peerOf();
    const descriptors = engine.rules.routes.get(domain)!({
      method,
      path,
      // A proxy that names no client is limited itself: rules by address are not passed by silence.
      address: peer && (addressOf(peer, header("x-forwarded-for")) ?? peer),
      ipv6Prefix,
      header,
    });
    if (descriptors.length === 0) return { status: 200, headers: {}, body: "" };
    const request = { domain, descriptors };
    const fault = boundsFault(request, bounds);
    if (fault !== undefined) return problemOf(status, faultText(fault));
    return andThen(engine.consume(request), (verdict) => respond(verdict, fieldsOf, status));
  }

  return function check(call, target) {
    const { routes, domains } = engine.rules;
    const query = new URLSearchParams(target.query);
    const only = routes.size === 1 ? routes.keys().next().value : undefined;
    const domain = query.get("domain") ?? only ?? "";
    if (!routes.has(domain)) return noRoutes(domain, domains.has(domain));
    const status = query.get("status") ?? "429";
    if (!STATUSES.includes(status)) {
      return problemOf(400, `status must be one of ${STATUSES.join(", ")}`);
    }
    const forwarded = forwardedRequest(call, query.get("from"));
    if (typeof forwarded === "string") return problemOf(400, forwarded);
    return limit(domain, forwarded, call, Number(status));
  };
}

function noRoutes(domain: string, isKnown: boolean): ServiceAnswer {
  const detail = domain === ""
    ? "name a domain with routes in the query: /check?domain=..."
    : `the domain ${domain.slice(0, 100)} ${isKnown ? "has no routes" : "is not known"}`;
  return problemOf(404, detail);
}

function respond(verdict: Verdict, fieldsOf: VerdictFields, status: number): ServiceAnswer {
  const headers: Record<string, string> = Object.fromEntries(fieldsOf(verdict));
  if (verdict.allowed) return { status: 200, headers, body: "" };
  headers["content-type"] = PROBLEM_TYPE;
  headers["cache-control"] = "no-store";
  const violated = verdict.rules
    .filter(({ allowed }) => !allowed)
    .map(({ rule }) => rule.name ?? rule.label);
  const failed = verdict.decision?.source === "policy";
  const kind = failed ? "temporary-reduced-capacity" : "quota-exceeded";
  return { status, headers, body: JSON.stringify({ ...problem(kind, violated), status }) };
}
