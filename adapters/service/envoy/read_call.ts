/*
 * From a call of Envoy's rate limit service to a request of ours: from protobuf's JSON form, which
 * is also what the protobuf messages are decoded to.
 *
 * Source: envoyproxy/data-plane-api, envoy/service/ratelimit/v3/rls.proto.
 */

import { algorithmOf, type Descriptor, envoyLimit, type RuleRequest } from "../../rules/rules.ts";
import { boundsFault, ENVOY_FORM, faultText, type RequestLimits } from "../http/request_bounds.ts";

/** Envoy's units by their number in the protocol; the first one is none. */
export const UNIT_NAMES: readonly string[] = [
  "UNKNOWN",
  "SECOND",
  "MINUTE",
  "HOUR",
  "DAY",
  "MONTH",
  "YEAR",
  "WEEK",
];

type Data = Readonly<Record<string, unknown>>;

/** A call of Envoy. */
export interface EnvoyCall extends RuleRequest {
  /** Of each descriptor whether it gives its units back rather than take them. */
  readonly givesBack: readonly boolean[];
}

/**
 * Reads a call. Names are in either spelling, numbers may be text, and what is `null` is not there.
 *
 * @returns The request, or what is wrong with the call.
 */
export function readCall(data: unknown, limits: RequestLimits): EnvoyCall | string {
  if (!isMap(data)) return "the body must be a map";
  const list = data.descriptors ?? [];
  if (!Array.isArray(list)) return "descriptors must be a list";
  const descriptors: Descriptor[] = [];
  for (const item of list) {
    const descriptor = descriptorOf(item);
    if (typeof descriptor === "string") return descriptor;
    descriptors.push(descriptor);
  }
  const hits = hitsOf(data);
  // In the protocol 0 units are those that nobody has set, which stand for 1.
  const cost = hits === 0 ? 1 : hits;
  const givesBack = list.map(isNegative);
  // What takes more than one unit may be a report of what was used, and is counted in any case.
  const charge = descriptors.some(({ cost: own = cost }, place) =>
    !givesBack[place] && own !== undefined && own > 1
  );
  const domain = (data.domain ?? "") as string;
  const request = { domain, descriptors, cost, charge, refuseDebt: true };
  const fault = boundsFault(request, limits, ENVOY_FORM);
  return fault === undefined ? { ...request, givesBack } : faultText(fault);
}

function descriptorOf(item: unknown): Descriptor | string {
  if (!isMap(item)) return "a descriptor must be a map";
  const list = item.entries ?? [];
  if (!Array.isArray(list)) return "entries must be a list";
  const entries: [string, string][] = [];
  for (const entry of list) {
    if (!isMap(entry)) return "an entry must be a map";
    const { key = "", value = "" } = entry;
    entries.push([key as string, value as string]);
  }
  const limit = limitOf(item.limit ?? undefined);
  return typeof limit === "string" && limit !== "blocked"
    ? limit
    : { entries, cost: hitsOf(item), limit };
}

/** The limit that a descriptor brings in place of the rules' own, or what is wrong with it. */
function limitOf(data: unknown): Descriptor["limit"] | string {
  if (data === undefined) return undefined;
  if (!isMap(data)) return "limit must be a map";
  const requests = numberOf(data.requestsPerUnit ?? data.requests_per_unit ?? 0);
  if (!Number.isInteger(requests) || !(requests as number >= 0 && requests as number < 2 ** 32)) {
    return "requestsPerUnit must be an integer from 0 to 4294967295";
  }
  const { unit = 0 } = data;
  const name = typeof unit === "number" ? UNIT_NAMES[unit] : unit;
  const limit = UNIT_NAMES.includes(name as string)
    ? envoyLimit(requests as number, name as string)
    : undefined;
  if (limit === undefined) return `unit must be one of ${UNIT_NAMES.slice(1).join(", ")}`;
  return limit === "blocked" ? limit : algorithmOf(limit);
}

/** Units as they stand in a call; what they must be is checked with the rest. */
function hitsOf(data: Data): number | undefined {
  return numberOf(data.hitsAddend ?? data.hits_addend ?? undefined) as number | undefined;
}

function isNegative({ isNegativeHits, is_negative_hits: other = isNegativeHits }: Data): boolean {
  return other === true;
}

function numberOf(value: unknown): unknown {
  return typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
}

function isMap(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
