/*
 * The request that a rule engine decides on, and the error for a malformed request.
 */

import { checkCost, rangeError, typeError } from "../../../core/options/checks.ts";
import type { Descriptor, Rule } from "../../../core/rules/rules.ts";

/** A request to a rule engine. */
export interface RuleRequest {
  /** The domain whose rules hold. */
  readonly domain: string;
  /** The subjects of the request; at least one. */
  readonly descriptors: readonly Descriptor[];
  /** Units for each descriptor without a cost of its own, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
  /**
   * Whether `consume` takes the units beyond the limit if need be: a cost that is known only
   * afterwards, such as the tokens of an answer. Default no.
   */
  readonly charge?: boolean | undefined;
  /**
   * Whether looks and charges on a key in debt are refused, too, as Envoy's service does; default
   * no.
   */
  readonly refuseDebt?: boolean | undefined;
}

const TOO_MANY_LIMITS = "TooManyLimitsError";
const MALFORMED = "MalformedRequestError";

/** The error of a request, permit or receipt of which no rules can decide: its caller's fault. */
export function malformedRequest(action: string, rule: string, current: unknown): TypeError {
  return Object.assign(typeError(action, rule, current), { name: MALFORMED });
}

/**
 * The value of a check of what a caller gave. An error keeps its class, `TypeError` or `RangeError`, and
 * is known by its name, so that errors of another copy of this package count, and from another thread.
 */
export function givenAs<Given extends readonly unknown[], Value>(
  check: (...given: Given) => Value,
  ...given: Given
): Value {
  try {
    return check(...given);
  } catch (error) {
    const isChecked = error instanceof TypeError || error instanceof RangeError;
    throw isChecked ? Object.assign(error, { name: MALFORMED }) : error;
  }
}

/** Whether an error is of a malformed request. */
export function isMalformedRequest(error: unknown): error is Error {
  return error instanceof Error && error.name === MALFORMED;
}

/**
 * Requires a well-formed request, so that a bad request changes nothing.
 *
 * @throws {TypeError} By the name `MalformedRequestError`: if there is no descriptor, or a descriptor
 * without entries.
 * @throws {RangeError} By the same name: if a cost is not an integer of at least 0.
 */
export function checkRuleRequest(request: RuleRequest): void {
  givenAs(checkDescriptors, request);
}

function checkDescriptors({ descriptors, cost }: RuleRequest): void {
  if (!Array.isArray(descriptors) || descriptors.length === 0) {
    throw typeError("decide", "a request must have at least one descriptor", descriptors);
  }
  if (cost !== undefined) checkCost("decide", cost, 0);
  for (const { entries, cost: own } of descriptors) {
    if (!Array.isArray(entries) || entries.length === 0) {
      throw typeError("decide", "a descriptor must have at least one entry", entries);
    }
    if (own !== undefined) checkCost("decide", own, 0);
  }
}

const PERMITS_NEEDED = "PermitsNeededError";

/** The error of a call that takes units of permits, which it could not give back. */
export function permitsNeeded(rule: string): TypeError {
  const needed = "a rule with concurrency must be asked by hold or reserve";
  return Object.assign(typeError("decide", needed, rule), { name: PERMITS_NEEDED });
}

/** Whether an error is of a call that should have been `hold` or `reserve`. */
export function isPermitsNeeded(error: unknown): error is TypeError {
  return error instanceof TypeError && error.name === PERMITS_NEEDED;
}

/** The error of a reservation on a limit that cannot be settled later. */
export function reservableNeeded({ name, label }: Rule, id: string): TypeError {
  const needed = `the limits of rule ${name ?? label} must have reservable: true`;
  return malformedRequest("reserve", needed, id);
}

/** The error of a request whose rules have more limits together than the store charges at once. */
export function tooManyLimits(most: number, count: number): RangeError {
  const rule = `the rules of a request must have at most ${most} limits together on this store`;
  return Object.assign(rangeError("decide", rule, count), { name: TOO_MANY_LIMITS });
}

/** Whether an error is of a request that has too many limits. */
export function isTooManyLimits(error: unknown): error is RangeError {
  return error instanceof RangeError && error.name === TOO_MANY_LIMITS;
}
