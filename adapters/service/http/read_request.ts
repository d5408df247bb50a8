/*
 * From the body of a call to the requests in it. Bodies come from anywhere: every part is looked at
 * before it is used, and a fault is reported with its place.
 */

import { formatValue } from "../../../core/toolkit.ts";
import type { Descriptor, DescriptorEntry, RuleRequest } from "../../rules/rules.ts";
import {
  boundsFault,
  faultText,
  MAP_FORM,
  type RequestFault,
  type RequestLimits,
} from "./request_bounds.ts";
import { parseJson, problemOf, type ServiceAnswer } from "./service_answer.ts";

/** What a body asks for: one request, or a list of them. */
export interface RequestBody {
  readonly many: boolean;
  readonly requests: readonly RuleRequest[];
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
): RequestBody | ServiceAnswer {
  const data = parseJson(text);
  if (data === undefined) return problemOf(400, "the body must be JSON");
  const many = Array.isArray(data);
  const list: readonly unknown[] = many ? data : [data];
  if (list.length > limits.maxBatch) {
    const detail = `a body must hold at most ${limits.maxBatch} requests, not ${list.length}`;
    return problemOf(400, detail);
  }
  const requests: RuleRequest[] = [];
  for (let index = 0; index < list.length; index++) {
    const request = requestOf(list[index], defaultDomain, limits);
    if ("rule" in request) {
      const place = many ? at(`[${index}]`, request.place) : request.place;
      return problemOf(400, faultText({ ...request, place }));
    }
    requests.push(request);
  }
  return { many, requests };
}

function requestOf(
  data: unknown,
  defaultDomain: string | undefined,
  limits: RequestLimits,
): RuleRequest | RequestFault {
  try {
    const request = shapeOf(data, defaultDomain);
    const fault = boundsFault(request, limits);
    if (fault === undefined) return request;
    return hasList(data as DataMap) ? fault : boundsFault(request, limits, MAP_FORM)!;
  } catch (fault) {
    if (typeof fault === "object" && fault !== null && "rule" in fault) {
      return fault as RequestFault;
    }
    throw fault;
  }
}

/** Whether any entries are written as a list. */
function hasList({ entries, descriptors }: DataMap): boolean {
  const all = descriptors === undefined ? [{ entries }] : descriptors as readonly DataMap[];
  return all.some(({ entries }) => Array.isArray(entries));
}

/** A request of which the maps and lists are right; what they hold is still to be checked. */
function shapeOf(data: unknown, defaultDomain: string | undefined): RuleRequest {
  const { domain = defaultDomain, descriptors, entries, cost, charge } = mapOf(data, "");
  if (charge !== undefined && typeof charge !== "boolean") {
    refuse("charge", `must be true or false, not ${formatValue(charge)}`);
  }
  return {
    domain: domain as string,
    descriptors: descriptors === undefined
      ? [{ entries: entriesOf(entries, "") }]
      : descriptorsOf(descriptors, entries),
    cost: cost as number | undefined,
    charge: charge as boolean | undefined,
  };
}

function descriptorsOf(data: unknown, entries: unknown): readonly Descriptor[] {
  if (entries !== undefined) refuse("descriptors", "and entries must not be given both");
  return Array.isArray(data)
    ? data.map(descriptorOf)
    : refuse("descriptors", `must be a list, not ${formatValue(data)}`);
}

function descriptorOf(data: unknown, index: number): Descriptor {
  const place = `descriptors[${index}]`;
  const { entries, cost } = mapOf(data, place);
  return { entries: entriesOf(entries, place), cost: cost as number | undefined };
}

/** Entries as a map, or as a list of pairs or of maps with key and value. */
function entriesOf(data: unknown, place: string): readonly DescriptorEntry[] {
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
      const rule = `must be a list of pairs, as the key ${formatValue(key)} is a number`;
      refuse(at(place, "entries"), rule);
    }
    found.push([key, map[key] as string]);
  }
  return found;
}

type DataMap = Readonly<Record<string, unknown>>;

function isMap(value: unknown): value is DataMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mapOf(value: unknown, place: string): DataMap {
  return isMap(value) ? value : refuse(place, `must be a map, not ${formatValue(value)}`);
}

function at(place: string, name: string): string {
  return place === "" || name === "" ? place + name : `${place}.${name}`;
}

/** Thrown within this file only. */
function refuse(place: string, rule: string): never {
  throw { place, rule } satisfies RequestFault;
}
