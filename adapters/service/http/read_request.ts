/*
 * Reads the requests in the body of a call. Bodies come from anywhere, so every part is checked
 * before it is used, and a fault is reported with its place.
 */

import { formatValue } from "../../../core/application_support.ts";
import type { Descriptor, DescriptorEntry, RuleRequest } from "../../rules/rules.ts";
import { at, type Place, refuseAt } from "./body_place.ts";
import { checkRequest, type RequestBounds } from "./request_bounds.ts";
import { type Body, parseJson, refuse } from "./service_answer.ts";

/** A request of a body, and the map that it was read from, which may say more. */
export interface ReadRequest {
  readonly request: RuleRequest;
  readonly map: DataMap;
  readonly place: Place;
}

/** Reads a body whose items are maps, and refuses one that is malformed. */
export function readBody<Item>(
  text: string,
  { maxBatch }: RequestBounds,
  read: (map: DataMap, place: Place) => Item,
): Body<Item> {
  const data = parseJson(text);
  const many = Array.isArray(data);
  const all: readonly unknown[] = many ? data : [data];
  if (all.length > maxBatch) {
    refuse(400, `a body must hold at most ${maxBatch} requests, not ${all.length}`);
  }
  const items = all.map((each, index) => {
    const place = many ? index : "";
    return read(mapOf(each, place), place);
  });
  return { many, items };
}

/**
 * Reads a body of requests, and refuses one that is malformed.
 *
 * @param text The body.
 * @param defaultDomain The domain of requests that name no domain; `undefined` if they must name
 *   one.
 */
export function readRequest(
  text: string,
  defaultDomain: string | undefined,
  bounds: RequestBounds,
): Body<ReadRequest> {
  return readBody(text, bounds, (map, place) => {
    return { map, place, request: requestOf(map, place, defaultDomain, bounds) };
  });
}

/** Reads one request. */
export function requestOf(
  { domain, descriptors, entries, cost, charge }: DataMap,
  place: Place,
  defaultDomain: string | undefined,
  bounds: RequestBounds,
): RuleRequest {
  if (charge !== undefined && typeof charge !== "boolean") {
    refuseAt(place, "charge", `must be true or false, not ${formatValue(charge)}`);
  }
  const request = {
    domain: (domain ?? defaultDomain) as string,
    descriptors: descriptors === undefined
      ? [{ entries: entriesOf(entries, place) }]
      : descriptorsOf(descriptors, entries, place),
    cost: cost as number | undefined,
    charge: charge as boolean | undefined,
  };
  checkRequest(request, bounds, place);
  return request;
}

function descriptorsOf(data: unknown, entries: unknown, place: Place): readonly Descriptor[] {
  if (entries !== undefined) refuseAt(place, "descriptors", "and entries must not be given both");
  if (!Array.isArray(data)) {
    return refuseAt(place, "descriptors", `must be a list, not ${formatValue(data)}`);
  }
  return data.map((each, index): Descriptor => {
    const own = at(place, `descriptors[${index}]`);
    const { entries, cost } = mapOf(each, own);
    return { entries: entriesOf(entries, own), cost: cost as number | undefined };
  });
}

/** Entries as a map, or as a list of pairs or of maps with key and value. */
function entriesOf(data: unknown, place: Place): readonly DescriptorEntry[] {
  if (Array.isArray(data)) {
    return data.map((entry, index) => {
      if (Array.isArray(entry)) return [entry[0], entry[1]];
      const { key, value } = mapOf(entry, `${at(place, "entries")}[${index}]`);
      return [key as string, value as string];
    });
  }
  const map = isMap(data) ? data : mapOf(data, at(place, "entries"));
  const found: DescriptorEntry[] = [];
  for (const key in map) {
    const code = key.charCodeAt(0);
    // JavaScript puts keys that are whole numbers first; their order would be lost.
    if (code >= 48 && code <= 57 && /^\d+$/.test(key)) {
      const rule = `must be a list of pairs, because the key ${formatValue(key)} is a number`;
      refuseAt(place, "entries", rule);
    }
    found.push([key, map[key] as string]);
  }
  return found;
}

/** A map of JSON. */
export type DataMap = Readonly<Record<string, unknown>>;

function isMap(value: unknown): value is DataMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Requires a map. */
export function mapOf(value: unknown, place: Place): DataMap {
  return isMap(value) ? value : refuseAt(place, "", `must be a map, not ${formatValue(value)}`);
}
