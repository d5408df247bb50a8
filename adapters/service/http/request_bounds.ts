/*
 * Bounds on a request, whatever its form: as JSON of the service's own form, as Envoy's JSON or
 * protobuf, or by the routes of `/check`. Readers turn their form into a request, and check only
 * that maps are maps and lists are lists. The values inside are checked here, and nowhere else.
 */

import { formatValue } from "../../../core/application_support.ts";
import type { Descriptor, RuleRequest } from "../../rules/rules.ts";
import { at, type Place, refuseAt } from "./body_place.ts";

/** How much a request may ask for. */
export interface RequestBounds {
  /** The most requests of one body. */
  readonly maxBatch: number;
  /** The most descriptors of a request. */
  readonly maxDescriptors: number;
  /** The most entries of a descriptor. */
  readonly maxEntries: number;
  /**
   * The most characters of a key, and of a value that is kept unchanged; a longer value is hashed.
   */
  readonly maxText: number;
}

/** The default bounds of bodies. */
export const REQUEST_BOUNDS: RequestBounds = {
  maxBatch: 1_000,
  maxDescriptors: 32,
  maxEntries: 16,
  maxText: 1_024,
};

/** The differences between the forms of requests. */
export interface RequestForm {
  /** The form's name for the units that a request takes. */
  readonly cost: string;
  /** The most units that a request may name for descriptors that name no units of their own. */
  readonly maxCost: number;
  /** The least length of a value. */
  readonly minValue: 0 | 1;
}

/** The service's own form. */
const OWN_FORM: RequestForm = {
  cost: "cost",
  maxCost: Number.MAX_SAFE_INTEGER,
  minValue: 1,
};

/** Envoy's form: a request's units have 32 bits, a descriptor's units have 64. */
export const ENVOY_FORM: RequestForm = {
  cost: "hitsAddend",
  maxCost: 2 ** 32 - 1,
  minValue: 0,
};

/** Refuses a request whose values are not valid. */
export function checkRequest(
  request: RuleRequest,
  bounds: RequestBounds,
  place: Place,
): void {
  checkWhole(request, place);
  const { descriptors } = request;
  const { length } = descriptors;
  checkCount(length, bounds, place);
  for (let index = 0; index < length; index++) {
    const own = length === 1 ? place : at(place, `descriptors[${index}]`);
    checkDescriptor(descriptors[index]!, bounds, own);
  }
}

/** Refuses a request whose domain or cost is not valid. */
export function checkWhole(
  { domain, cost }: Pick<RuleRequest, "domain" | "cost">,
  place: Place,
  form: RequestForm = OWN_FORM,
): void {
  if (typeof domain !== "string" || domain === "") {
    refuseAt(place, "domain", `must be text that is not empty, not ${formatValue(domain)}`);
  }
  checkCost(cost, place, form.cost, form.maxCost);
}

/** Refuses a request of too few or too many descriptors. */
export function checkCount(length: number, { maxDescriptors }: RequestBounds, place: Place): void {
  if (length >= 1 && length <= maxDescriptors) return;
  const rule = `must be a list of 1 to ${maxDescriptors} items, not ${length} items`;
  refuseAt(place, "descriptors", rule);
}

/** Refuses a descriptor whose values are not valid. */
export function checkDescriptor(
  { entries, cost }: Descriptor,
  { maxEntries, maxText }: RequestBounds,
  place: Place,
  { cost: costName, minValue }: RequestForm = OWN_FORM,
): void {
  checkCost(cost, place, costName, Number.MAX_SAFE_INTEGER);
  const { length } = entries;
  if (length < 1 || length > maxEntries) {
    refuseAt(place, "entries", `must hold 1 to ${maxEntries} entries, not ${length}`);
  }
  for (let index = 0; index < length; index++) {
    const [key, value] = entries[index]!;
    if (typeof key !== "string" || key.length < 1 || key.length > maxText) {
      const rule = `must have keys of 1 to ${maxText} characters, not ${formatValue(key)}`;
      refuseAt(place, "entries", rule);
    }
    if (typeof value !== "string" || value.length < minValue) {
      const filled = minValue === 0 ? "text" : "text that is not empty";
      const name = `entries.${key}`.slice(0, 200);
      refuseAt(place, name, `must be ${filled}, not ${formatValue(value)}`);
    }
  }
}

function checkCost(cost: unknown, place: Place, name: string, most: number): void {
  if (cost === undefined) return;
  if (Number.isSafeInteger(cost) && cost as number >= 0 && cost as number <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? "of at least 0" : `from 0 to ${most}`;
  refuseAt(place, name, `must be an integer ${range}, not ${formatValue(cost)}`);
}
