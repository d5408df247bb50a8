/*
 * `GET /check`: a proxy asks whether a client's request may go on.
 *
 * The proxy tells the request in header fields (see forwarded_request.ts); `/check?from=nginx` or
 * `?from=forwarded` says in which. The routes of the rules turn it into descriptors. The client's
 * address is that of X-Forwarded-For as far as trusted proxies tell it.
 *
 * nginx knows only 2xx, 401 and 403 as answers to `auth_request`; so the status of a refusal can be
 * chosen in the query: `/check?status=403`.
 */

import { andThen, type MaybePromise } from "../../../core/toolkit.ts";
import type { Decision, Policy } from "../../../mod.ts";
import {
  type ClientAddress,
  type HeaderField,
  type HeaderWriter,
  headerWriter,
  problem,
  PROBLEM_TYPE,
} from "../../http/http.ts";
import type { RuleEngine, RuleVerdict, Verdict } from "../../rules/rules.ts";
import { httpFault, problemResponse } from "./problem_response.ts";
import { forwardedRequest, type RequestHead } from "./forwarded_request.ts";

/** The statuses that a refusal can be given. */
const STATUSES: readonly string[] = ["401", "403", "429", "503"];

/** Answers checks. */
export type CheckCall = (
  request: RequestHead,
  query: URLSearchParams,
  peer: string | undefined,
) => MaybePromise<Response>;

/**
 * Makes what answers checks.
 *
 * @param addressOf Finds the client's address; of IPv6 its network.
 * @param maxText The most characters of a value; a request with a longer one is refused, as counters
 * are kept by values and the client chooses them.
 */
export function checkCall(
  engine: RuleEngine,
  addressOf: ClientAddress,
  maxText: number,
): CheckCall {
  const writers = new Map<string, HeaderWriter>();

  function fieldsOf(verdict: Verdict): HeaderField[] {
    const enforced = verdict.rules.filter(({ rule, decision }) =>
      !rule.shadow && decision !== undefined && decision.source !== "policy"
    );
    const policies = enforced.flatMap(policiesOf);
    const decisions = enforced.flatMap(decisionsOf);
    if (policies.length === 0 || policies.length !== decisions.length) return [];
    const key = JSON.stringify(policies);
    let write = writers.get(key);
    if (write === undefined) {
      // Combinations of rules are few; should they not be, none is worth keeping.
      if (writers.size >= 1_000) writers.clear();
      write = writerOf(policies);
      writers.set(key, write);
    }
    return write(decisions, Date.now());
  }

  return function check(request, query, peer) {
    const { domains, routes } = engine.rules;
    const domain = query.get("domain") ?? (routes.size === 1 ? [...routes.keys()][0]! : "");
    const route = routes.get(domain);
    if (route === undefined) {
      const known = domains.has(domain) ? "has no routes" : "is not known";
      const detail = domain === ""
        ? "name a domain with routes in the query: /check?domain=..."
        : `the domain ${domain.slice(0, 100)} ${known}`;
      return problemResponse(httpFault(404, detail));
    }
    const status = query.get("status") ?? "429";
    if (!STATUSES.includes(status)) {
      return problemResponse(httpFault(400, `status must be one of ${STATUSES.join(", ")}`));
    }
    const told = forwardedRequest(request, query.get("from"));
    if (typeof told === "string") return problemResponse(httpFault(400, told));
    const { headers } = request;
    const descriptors = route({
      ...told,
      address: peer === undefined ? undefined : addressOf(peer, headers.get("x-forwarded-for")),
      header: (name) => headers.get(name),
    });
    if (descriptors.length === 0) return new Response(null, { status: 200 });
    if (descriptors.some(({ entries }) => entries.some(([, value]) => value.length > maxText))) {
      const detail = `what counters are kept by must be at most ${maxText} characters long`;
      return problemResponse(httpFault(Number(status), detail));
    }
    return andThen(engine.consume({ domain, descriptors }), (verdict) => {
      const headers = new Headers(fieldsOf(verdict) as [string, string][]);
      if (verdict.allowed) return new Response(null, { status: 200, headers });
      return refusal(verdict, headers, Number(status));
    });
  };
}

function refusal(verdict: Verdict, headers: Headers, status: number): Response {
  const wait = verdict.decision?.retryAfter ?? Infinity;
  if (wait !== Infinity) headers.set("retry-after", String(Math.max(1, Math.ceil(wait / 1_000))));
  headers.set("content-type", PROBLEM_TYPE);
  headers.set("cache-control", "no-store");
  const violated = verdict.rules
    .filter(({ allowed }) => !allowed)
    .map(({ rule }) => rule.name ?? rule.label);
  const failed = verdict.decision?.source === "policy";
  const kind = failed ? "temporary-reduced-capacity" : "quota-exceeded";
  const body = { ...problem(kind, violated), status };
  return new Response(JSON.stringify(body), { status, headers });
}

/** What writes the fields; nothing of policies whose names cannot stand in a field. */
function writerOf(policies: readonly Policy[]): HeaderWriter {
  try {
    return headerWriter(policies);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return () => [];
  }
}

function policiesOf({ limits }: RuleVerdict): readonly Policy[] {
  return limits.flatMap(({ policies }) => policies);
}

function decisionsOf({ decision, limits }: RuleVerdict): readonly Decision[] {
  if (decision === undefined || limits.length === 0) return [];
  return limits.length === 1 ? [decision] : decision.parts ?? [];
}
