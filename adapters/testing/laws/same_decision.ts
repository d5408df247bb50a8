/*
 * Compares decisions field by field. `Object.is` tells -0 from 0, which `===` would let pass.
 */

import type { Decision } from "../../../core/decision.ts";

/** The fields of a decision, in their order. */
export const FIELDS: readonly (keyof Decision)[] = [
  "allowed",
  "limit",
  "remaining",
  "retryAfter",
  "nextAfter",
  "resetAfter",
  "delay",
  "debt",
  "source",
  "parts",
];

/** Whether two decisions are the same in every field, and so are their parts. */
export function sameDecision(a: Decision, b: Decision): boolean {
  return FIELDS.every((field) =>
    field === "parts"
      ? a.parts?.length === b.parts?.length &&
        (a.parts ?? []).every((part, i) => sameDecision(part, b.parts![i]!))
      : Object.is(a[field], b[field])
  );
}
