/*
 * `GET /check`: a proxy asks whether a client's request may go on.
 *
 * The proxy describes the request in header fields, of one of two families:
 *
 *   from=nginx       X-Original-URI, X-Original-Method: what its configuration sets
 *   from=forwarded   X-Forwarded-Uri, X-Forwarded-Method: Traefik and Caddy
 *
 * A proxy passes on fields of the other family that its client sent. So only one family is ever
 * believed: the family named in the query, `/check?from=nginx`, or the only family that is present.
 * If both are present and no family is named, it is unknown which fields the proxy wrote.
 *
 * The routes of the rules turn the request into descriptors. The client's address comes from
 * X-Forwarded-For, as far as trusted proxies vouch for it.
 *
 * nginx accepts only 2xx, 401 and 403 as answers to `auth_request`, so the query can choose the
 * status of a refusal: `/check?status=403`.
 */

import { clientAddress, problem, PROBLEM_TYPE } from "../../http/http.ts";
import {
  isPermitsNeeded,
  isTooManyLimits,
  type RuleEngine,
  type Verdict,
  violatedPolicies,
} from "../../rules/rules.ts";
import type { Log } from "../log.ts";
import type { CallSettings } from "../serve_options.ts";
import type { IncomingCall } from "./incoming_call.ts";
import type { RequestTarget } from "./request_target.ts";
import { refuse, type ServiceAnswer } from "./service_answer.ts";
import { verdictFields } from "./verdict_fields.ts";

const FAMILIES = {
  nginx: { uri: "x-original-uri", method: "x-original-method" },
  forwarded: { uri: "x-forwarded-uri", method: "x-forwarded-method" },
} as const;

type Family = keyof typeof FAMILIES;

const NAMES = Object.keys(FAMILIES) as readonly Family[];

/** The statuses that a refusal can have. */
const STATUSES: readonly string[] = ["401", "403", "429", "503"];

/** Makes the check. */
export function checkCall(
  engine: RuleEngine,
  { trustedProxies, ipv6Prefix, log }: Pick<CallSettings, "trustedProxies" | "ipv6Prefix"> & {
    readonly log: Log;
  },
): (call: IncomingCall, target: RequestTarget) => Promise<ServiceAnswer> {
  const addressOf = clientAddress({ trustedProxies });
  const notice = proxyNotices(log);

  return async function check(call, target) {
    const { routes, domains } = engine.rules;
    const query = new URLSearchParams(target.query);
    const only = routes.size === 1 ? routes.keys().next().value : undefined;
    const domain = query.get("domain") ?? only ?? "";
    const described = routes.get(domain) ?? noRoutes(domain, domains.has(domain));
    const status = query.get("status") ?? "429";
    if (!STATUSES.includes(status)) refuse(400, `status must be one of ${STATUSES.join(", ")}`);
    const { header } = call;
    const peer = call.peer();
    const { method, path, field } = forwardedRequest(call, query.get("from"));
    const forwarded = header("x-forwarded-for");
    const client = peer && addressOf(peer, forwarded);
    if (header(field) === null) notice("no-path", { field });
    if (client === undefined) notice("no-client", { peer });
    // The field of a peer that is not trusted does not count: such a peer is the client itself.
    else if (forwarded !== null && addressOf(peer!, null) !== undefined) {
      notice("untrusted", { peer });
    }
    const descriptors = described({
      method,
      path,
      // If a proxy names no client, the limits of the proxy's own address hold. Otherwise a missing
      // field would bypass rules by address.
      address: client ?? peer,
      ipv6Prefix,
      header,
    });
    // Every fault that a client can cause is answered with the status of refusals. nginx turns any
    // other status into a 500, and a proxy that admits on errors would let the request pass.
    if (descriptors === undefined) refuse(Number(status), "the path can be read in too many ways");
    if (descriptors.length === 0) return { status: 200, headers: {}, body: "" };
    const request = { domain, descriptors };
    try {
      return respond(await engine.consume(request), Number(status));
    } catch (error) {
      if (isTooManyLimits(error) || isPermitsNeeded(error)) refuse(Number(status), error.message);
      throw error;
    }
  };
}

/** Faults in the setup of a proxy that its requests show. */
const NOTICES = {
  untrusted:
    "X-Forwarded-For is ignored because this peer is not trusted, and all its clients share the " +
    "limits of its address: name it with --trust",
  "no-client":
    "a trusted proxy names no client in X-Forwarded-For, and all such clients share the " +
    "limits of its address",
  "no-path":
    "the proxy does not name the path in this field, and every request counts as one for /",
} as const;

/** Makes the function that logs each notice once. */
function proxyNotices(log: Log): (name: keyof typeof NOTICES, facts: object) => void {
  const said = new Set<string>();
  return (name, facts) => {
    if (said.has(name)) return;
    said.add(name);
    log({ event: `proxy-${name}`, level: "warning", ...facts, reason: NOTICES[name] });
  };
}

function noRoutes(domain: string, isKnown: boolean): never {
  const detail = domain === ""
    ? "name a domain with routes in the query: /check?domain=..."
    : `the domain ${domain.slice(0, 100)} ${isKnown ? "has no routes" : "is not known"}`;
  refuse(404, detail);
}

function respond(verdict: Verdict, status: number): ServiceAnswer {
  const headers: Record<string, string> = Object.fromEntries(verdictFields(verdict));
  if (verdict.allowed) return { status: 200, headers, body: "" };
  headers["content-type"] = PROBLEM_TYPE;
  headers["cache-control"] = "no-store";
  const violated = [...new Set(verdict.rules.flatMap(violatedPolicies))];
  const failed = verdict.decision?.source === "policy";
  const kind = failed ? "temporary-reduced-capacity" : "quota-exceeded";
  return { status, headers, body: JSON.stringify({ ...problem(kind, violated), status }) };
}

/**
 * The request that a proxy asks about, and the field that its path comes from; refused if it is
 * ambiguous.
 *
 * @param from The family to believe; `null` if it is not named.
 */
function forwardedRequest({ header, method }: IncomingCall, from: string | null) {
  if (from !== null && !NAMES.includes(from as Family)) {
    refuse(400, `from must be one of ${NAMES.join(", ")}`);
  }
  const present = NAMES.filter((family) =>
    header(FAMILIES[family].uri) !== null || header(FAMILIES[family].method) !== null
  );
  if (from === null && present.length > 1) {
    const detail =
      "both X-Original-* and X-Forwarded-* describe a request: name the one to use in " +
      "the query, /check?from=nginx or /check?from=forwarded";
    refuse(400, detail);
  }
  const fields = FAMILIES[(from ?? present[0] ?? "nginx") as Family];
  const path = header(fields.uri) ?? "/";
  return { method: (header(fields.method) ?? method).toUpperCase(), path, field: fields.uri };
}
