/*
 * Bounds on a request, whatever its form: as JSON of the service's own form, as Envoy's JSON or
 * protobuf, or by the routes of `/check`. Readers turn their form into a request, and check only
 * that maps are maps and lists are lists. The values inside are checked here, and nowhere else.
 */

import { formatValue } from "../../../core/application_support.ts";
import type { Descriptor, DescriptorEntry, RuleRequest } from "../../rules/rules.ts";

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

/** A fault of a request, and where it is: `entries[0].value`, `must be text ...`. */
export interface RequestFault {
  readonly place: string;
  readonly rule: string;
}

/** A fault in words. */
export function faultText({ place, rule }: RequestFault): string {
  return `${place === "" ? "the body" : place} ${rule}`;
}

/** The first fault in a request's values; `undefined` if they are valid. */
export function boundsFault(
  { domain, descriptors, cost }: RuleRequest,
  bounds: RequestBounds,
  form: RequestForm = OWN_FORM,
): RequestFault | undefined {
  if (typeof domain !== "string" || domain === "") {
    return { place: "domain", rule: `must be text that is not empty, not ${formatValue(domain)}` };
  }
  if (!isCost(cost, form.maxCost)) return costFault(form.cost, cost, form.maxCost);
  const { length } = descriptors;
  if (length < 1 || length > bounds.maxDescriptors) {
    const rule = `must be a list of 1 to ${bounds.maxDescriptors} items, not ${length} items`;
    return { place: "descriptors", rule };
  }
  for (let index = 0; index < length; index++) {
    const fault = descriptorFault(descriptors[index]!, bounds, form);
    if (fault === undefined) continue;
    return length === 1 ? fault : { ...fault, place: `descriptors[${index}].${fault.place}` };
  }
  return undefined;
}

function descriptorFault(
  { entries, cost }: Descriptor,
  bounds: RequestBounds,
  form: RequestForm,
): RequestFault | undefined {
  return isCost(cost, Number.MAX_SAFE_INTEGER)
    ? entriesFault(entries, bounds, form)
    : costFault(form.cost, cost, Number.MAX_SAFE_INTEGER);
}

function entriesFault(
  entries: readonly DescriptorEntry[],
  { maxEntries, maxText }: RequestBounds,
  { minValue }: RequestForm,
): RequestFault | undefined {
  const { length } = entries;
  if (length < 1 || length > maxEntries) {
    return { place: "entries", rule: `must hold 1 to ${maxEntries} entries, not ${length}` };
  }
  for (let index = 0; index < length; index++) {
    const [key, value] = entries[index]!;
    if (typeof key !== "string" || key.length < 1 || key.length > maxText) {
      const rule = `must have keys of 1 to ${maxText} characters, not ${formatValue(key)}`;
      return { place: "entries", rule };
    }
    if (typeof value !== "string" || value.length < minValue) {
      const filled = minValue === 0 ? "text" : "text that is not empty";
      const place = `entries.${key}`.slice(0, 200);
      return { place, rule: `must be ${filled}, not ${formatValue(value)}` };
    }
  }
  return undefined;
}

function isCost(cost: unknown, most: number): boolean {
  return cost === undefined ||
    (Number.isSafeInteger(cost) && cost as number >= 0 && cost as number <= most);
}

function costFault(place: string, cost: unknown, most: number): RequestFault {
  const range = most === Number.MAX_SAFE_INTEGER ? "of at least 0" : `from 0 to ${most}`;
  return { place, rule: `must be an integer ${range}, not ${formatValue(cost)}` };
}
