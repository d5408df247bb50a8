/*
 * From a call of Envoy's rate limit service to a request of ours: from protobuf's JSON form, which
 * is also what the protobuf messages are decoded to.
 *
 * Source: envoyproxy/data-plane-api, envoy/service/ratelimit/v3/rls.proto.
 */

import { algorithmOf, type Descriptor, envoyLimit, type RuleRequest } from "../../rules/rules.ts";
import { type DataMap, mapOf } from "../http/read_request.ts";
import { asRefusal, type CallRefusal, refuse } from "../http/service_answer.ts";
import {
  checkCount,
  checkDescriptor,
  checkWhole,
  ENVOY_FORM,
  type RequestBounds,
} from "../http/request_bounds.ts";

/** Envoy's units by their number in the protocol; number 0 stands for no unit. */
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

/** A call of Envoy. */
export interface EnvoyCall extends RuleRequest {
  /** The place in the call of each valid descriptor: malformed descriptors are left out. */
  readonly places: readonly number[];
  /** Whether each descriptor gives its units back rather than takes them. */
  readonly givesBack: readonly boolean[];
  /** How many descriptors the call has. */
  readonly count: number;
  /** The fault of the first malformed descriptor. */
  readonly fault: CallRefusal | undefined;
}

/**
 * Reads a call, and refuses one that is malformed as a whole. A malformed descriptor does not free
 * the others from their limits: they are decided nevertheless. Names may have either spelling,
 * numbers may be text, and `null` means that a field is absent.
 */
export function readCall(data: unknown, limits: RequestBounds): EnvoyCall {
  const map = mapOf(data, "");
  const list = listOf(map["descriptors"], "descriptors");
  const hits = hitsOf(map);
  // In the protocol 0 means that the units are not set, which stands for 1.
  const cost = hits === 0 ? 1 : hits;
  const whole = { domain: (map["domain"] ?? "") as string, cost };
  checkWhole(whole, "", ENVOY_FORM);
  const descriptors: Descriptor[] = [];
  const places: number[] = [];
  const givesBack: boolean[] = [];
  const faults = list.slice(0, limits.maxDescriptors).map((item, place) =>
    faultOf(() => {
      const descriptor = descriptorOf(item, place);
      const own = list.length === 1 ? "" : `descriptors[${place}]`;
      checkDescriptor(descriptor, limits, own, ENVOY_FORM);
      descriptors.push(descriptor);
      places.push(place);
      givesBack.push(isNegative(item as DataMap));
    })
  );
  faults.push(faultOf(() => checkCount(list.length, limits, "")));
  const fault = faults.find((each) => each !== undefined);
  if (fault !== undefined && descriptors.length === 0) throw fault;
  // A descriptor of more than one unit may report actual use, and is counted in any case.
  const charge = descriptors.some(({ cost: own = cost }, index) =>
    !givesBack[index] && own !== undefined && own > 1
  );
  const request = { ...whole, descriptors, charge, refuseDebt: true };
  return { ...request, places, givesBack, count: list.length, fault };
}

/** Why a part of a call is refused, if it is. */
function faultOf(read: () => void): CallRefusal | undefined {
  try {
    return void read();
  } catch (error) {
    const refusal = asRefusal(error);
    if (refusal === undefined) throw error;
    return refusal;
  }
}

function descriptorOf(item: unknown, place: number): Descriptor {
  const descriptor = mapOf(item, `descriptors[${place}]`);
  const entries = listOf(descriptor["entries"], "entries").map((entry): [string, string] => {
    const { key = "", value = "" } = mapOf(entry, "an entry");
    return [key as string, value as string];
  });
  return { entries, cost: hitsOf(descriptor), limit: limitOf(descriptor["limit"] ?? undefined) };
}

/** The limit of a descriptor that replaces the rules' own limits. */
function limitOf(data: unknown): Descriptor["limit"] {
  if (data === undefined) return undefined;
  const { requestsPerUnit, requests_per_unit: other = 0, unit = 0 } = mapOf(data, "limit");
  const requests = numberOf(requestsPerUnit ?? other ?? 0);
  if (!Number.isInteger(requests) || !(requests as number >= 0 && requests as number < 2 ** 32)) {
    refuse(400, "requestsPerUnit must be an integer from 0 to 4294967295");
  }
  const name = typeof unit === "number" ? UNIT_NAMES[unit] : unit;
  const limit = UNIT_NAMES.includes(name as string)
    ? envoyLimit(requests as number, name as string)
    : undefined;
  if (limit === undefined) refuse(400, `unit must be one of ${UNIT_NAMES.slice(1).join(", ")}`);
  return limit === "blocked" ? limit : algorithmOf(limit);
}

/** The units in a call. Their value is checked later, with the rest of the request. */
function hitsOf(data: DataMap): number | undefined {
  return numberOf(data["hitsAddend"] ?? data["hits_addend"] ?? undefined) as number | undefined;
}

function isNegative(
  { isNegativeHits, is_negative_hits: other = isNegativeHits }: DataMap,
): boolean {
  return other === true;
}

function numberOf(value: unknown): unknown {
  return typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  const list = value ?? [];
  return Array.isArray(list) ? list : refuse(400, `${what} must be a list`);
}
