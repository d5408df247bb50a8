/*
 * From the body of a request to what it asks for. Bodies come from anywhere: every part is looked
 * at before it is used, and what is wrong is told with its place.
 */

import { formatValue } from "../../../core/toolkit.ts";
import type { Descriptor, DescriptorEntry, RuleRequest } from "../../rules/rules.ts";
import { type HttpFault, httpFault } from "./problem_response.ts";

/** How much a request may ask for. */
export interface RequestLimits {
  /** The most requests of one body. */
  readonly maxBatch: number;
  /** The most descriptors of a request. */
  readonly maxDescriptors: number;
  /** The most entries of a descriptor. */
  readonly maxEntries: number;
  /** The most characters of a key or a value. */
  readonly maxText: number;
}

/** What bodies may ask for unless something else is said. */
export const REQUEST_LIMITS: RequestLimits = {
  maxBatch: 1_000,
  maxDescriptors: 32,
  maxEntries: 16,
  maxText: 1_024,
};

/** What a body asks for: one request, or a list of them. */
export type RequestBody =
  | { readonly many: false; readonly request: RuleRequest }
  | { readonly many: true; readonly requests: readonly RuleRequest[] };

/** Thrown within this file, with the fault; nothing else is. */
interface Refused {
  readonly fault: HttpFault;
}

/**
 * Reads a body.
 *
 * @param text The body.
 * @param defaultDomain The domain of requests that name none; `undefined` if they must.
 */
export function readRequest(
  text: string,
  defaultDomain: string | undefined,
  limits: RequestLimits,
): RequestBody | HttpFault {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return httpFault(400, "the body must be JSON");
  }
  try {
    if (!Array.isArray(data)) {
      const request = plainRequest(data, defaultDomain, limits) ??
        requestOf(data, "", defaultDomain, limits);
      return { many: false, request };
    }
    if (data.length > limits.maxBatch) {
      refuse(`a body must hold at most ${limits.maxBatch} requests, not ${data.length}`);
    }
    const requests = data.map((each, place) =>
      plainRequest(each, defaultDomain, limits) ??
        requestOf(each, `[${place}]`, defaultDomain, limits)
    );
    return { many: true, requests };
  } catch (refused) {
    if (typeof refused === "object" && refused !== null && "fault" in refused) {
      return (refused as Refused).fault;
    }
    throw refused;
  }
}

/**
 * The common request: one descriptor, its entries as a map, and nothing wrong with it. `undefined`
 * for every other, which is then read with its places in hand.
 */
function plainRequest(
  data: unknown,
  defaultDomain: string | undefined,
  { maxEntries, maxText }: RequestLimits,
): RuleRequest | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const { domain = defaultDomain, descriptors, entries, cost } = data as Readonly<
    Record<string, unknown>
  >;
  if (typeof domain !== "string" || domain === "" || descriptors !== undefined) return undefined;
  if (cost !== undefined && !(Number.isSafeInteger(cost) && cost as number >= 0)) return undefined;
  if (typeof entries !== "object" || entries === null || Array.isArray(entries)) return undefined;
  const found: DescriptorEntry[] = [];
  for (const key in entries) {
    const value: unknown = (entries as Readonly<Record<string, unknown>>)[key];
    if (typeof value !== "string" || value === "" || value.length > maxText) return undefined;
    // A key that begins with a digit may be a number, whose place is lost.
    if (key === "" || key.length > maxText || key.charCodeAt(0) < 58) return undefined;
    found.push([key, value]);
  }
  if (found.length === 0 || found.length > maxEntries) return undefined;
  return { domain, descriptors: [{ entries: found }], cost: cost as number | undefined };
}

function requestOf(
  data: unknown,
  place: string,
  defaultDomain: string | undefined,
  limits: RequestLimits,
): RuleRequest {
  const { domain = defaultDomain, descriptors, entries, cost } = mapOf(data, place);
  if (typeof domain !== "string" || domain === "") {
    refuse(`${at(place, "domain")} must be text that is not empty, not ${formatValue(domain)}`);
  }
  const units = costOf(cost, at(place, "cost"));
  if (descriptors === undefined) {
    return {
      domain: domain as string,
      descriptors: [{ entries: entriesOf(entries, at(place, "entries"), limits) }],
      cost: units,
    };
  }
  const where = at(place, "descriptors");
  if (entries !== undefined) refuse(`${where} and entries must not be given both`);
  return {
    domain: domain as string,
    descriptors: listOf(descriptors, where, limits.maxDescriptors).map((each, index) =>
      descriptorOf(each, `${where}[${index}]`, limits)
    ),
    cost: units,
  };
}

function descriptorOf(data: unknown, place: string, limits: RequestLimits): Descriptor {
  const { entries, cost } = mapOf(data, place);
  return {
    entries: entriesOf(entries, at(place, "entries"), limits),
    cost: costOf(cost, at(place, "cost")),
  };
}

/** Entries as a map, or as a list of pairs or of maps with key and value. */
function entriesOf(
  data: unknown,
  place: string,
  limits: RequestLimits,
): readonly DescriptorEntry[] {
  if (Array.isArray(data)) {
    return listOf(data, place, limits.maxEntries).map((entry, index) => {
      const where = `${place}[${index}]`;
      const { key, value } = Array.isArray(entry)
        ? { key: entry[0], value: entry[1] }
        : mapOf(entry, where);
      return [textOf(key, `${where}.key`, limits), textOf(value, `${where}.value`, limits)];
    });
  }
  const map = mapOf(data, place);
  const found: DescriptorEntry[] = [];
  for (const key in map) {
    const code = key.charCodeAt(0);
    // JavaScript puts keys that are whole numbers first; their order would be lost.
    if (code >= 48 && code <= 57 && /^\d+$/.test(key)) {
      refuse(`${place} must be a list of pairs, as the key ${formatValue(key)} is a number`);
    }
    found.push([textOf(key, place, limits), textOf(map[key], at(place, key), limits)]);
  }
  if (found.length === 0 || found.length > limits.maxEntries) {
    refuse(`${place} must hold 1 to ${limits.maxEntries} entries, not ${found.length}`);
  }
  return found;
}

function textOf(value: unknown, place: string, { maxText }: RequestLimits): string {
  if (typeof value === "string" && value !== "" && value.length <= maxText) return value;
  return refuse(
    `${place.slice(0, 200)} must be text of 1 to ${maxText} characters, not ${formatValue(value)}`,
  );
}

function costOf(value: unknown, place: string): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  return refuse(`${place} must be an integer of at least 0, not ${formatValue(value)}`);
}

function listOf(value: unknown, place: string, most: number): readonly unknown[] {
  if (Array.isArray(value) && value.length >= 1 && value.length <= most) return value;
  const shown = Array.isArray(value) ? `${value.length} items` : formatValue(value);
  return refuse(`${place} must be a list of 1 to ${most} items, not ${shown}`);
}

function mapOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  return refuse(`${place === "" ? "the body" : place} must be a map, not ${formatValue(value)}`);
}

function at(place: string, name: string): string {
  return place === "" ? name : `${place}.${name}`;
}

function refuse(detail: string): never {
  throw { fault: httpFault(400, detail) } satisfies Refused;
}
