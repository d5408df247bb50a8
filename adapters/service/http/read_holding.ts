/*
 * Reads the receipts and permits in the body of a call. They come from callers, who may have
 * changed them. The request in each is checked like any other request, and the engine checks the
 * rest.
 */

import { formatValue } from "../../../core/application_support.ts";
import type { ActualCost, RulePermit, RuleReceipt } from "../../rules/rules.ts";
import { at, type Place, refuseAt } from "./body_place.ts";
import { type DataMap, mapOf, readBody, requestOf } from "./read_request.ts";
import type { RequestBounds } from "./request_bounds.ts";
import type { Body } from "./service_answer.ts";

/** A receipt, or a permit. */
export interface Holding {
  /** The receipt or the permit, whose id and parts are not checked yet. */
  readonly held: RulePermit | RuleReceipt;
  /** The units that were really used; `undefined` if the body does not say. */
  readonly actual: ActualCost | undefined;
}

/**
 * Reads a body of receipts and permits, and refuses one that is malformed.
 *
 * @param settles Whether they must be receipts, each of which says what was really used.
 */
export function readHoldings(
  text: string,
  bounds: RequestBounds,
  settles: boolean,
): Body<Holding> {
  const names = settles ? ["receipt"] : ["receipt", "permit"];
  return readBody(text, bounds, (map, place): Holding => {
    const actual = actualOf(map, place, settles);
    const given = names.filter((name) => map[name] !== undefined && map[name] !== null);
    if (given.length !== 1) {
      refuseAt(place, "", `must have ${names.join(" or ")}, and nothing else`);
    }
    const [name] = given as [string];
    const own = at(place, name);
    const written = mapOf(map[name], own);
    const { id, parts } = written as unknown as RuleReceipt;
    const { domain, descriptors, cost = 1 } = requestOf(written, own, undefined, bounds);
    const held = { id, domain, descriptors, cost };
    return { held: name === "receipt" ? { ...held, parts } : held, actual };
  });
}

function actualOf({ actual }: DataMap, place: Place, isNeeded: boolean): ActualCost | undefined {
  if (!isNeeded && actual === undefined) return undefined;
  // One for each descriptor; null keeps its cost.
  if (Array.isArray(actual)) {
    return actual.map((each, index) =>
      each === null ? undefined : unitsOf(each, place, `actual[${index}]`)
    );
  }
  return unitsOf(actual, place, "actual");
}

function unitsOf(actual: unknown, place: Place, name: string): number {
  if (Number.isSafeInteger(actual) && actual as number >= 0) return actual as number;
  return refuseAt(place, name, `must be an integer of at least 0, not ${formatValue(actual)}`);
}
