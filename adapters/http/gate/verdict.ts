/*
 * What the gate decides about a request, for the adapter to carry out.
 */
import type { Decision } from "../../../core/decision.ts";
import type { HeaderField } from "../fields/header_writer.ts";
import type { Outcome } from "./rate_limit_options.ts";
import type { Refusal } from "./refusal.ts";

/** What becomes of a request. */
export interface Verdict {
  /** The decision; `undefined` if the request was not limited. */
  readonly decision: Decision | undefined;
  /** Header fields for the response, be it the handler's or the refusal. */
  readonly headers: readonly HeaderField[];
  /** What to answer in place of the handler; `undefined` lets the request through. */
  readonly refusal: Refusal | undefined;
  /** To be called with how an admitted request ended; `undefined` if nothing depends on it. */
  readonly settle: ((outcome: Outcome) => void) | undefined;
}

/** Refusals are never cached. */
export const NO_STORE: HeaderField = ["Cache-Control", "no-store"];

/** The verdict on a request that is not limited. */
export const UNLIMITED: Verdict = verdictOf(undefined, [], undefined, undefined);

/** Every verdict is made here, so that all share one shape. */
export function verdictOf(
  decision: Verdict["decision"],
  headers: Verdict["headers"],
  refusal: Verdict["refusal"],
  settle: Verdict["settle"],
): Verdict {
  return { decision, headers, refusal, settle };
}

/** Refuses without a decision. */
export function refuse(refusal: Refusal): Verdict {
  return verdictOf(undefined, [NO_STORE], refusal, undefined);
}
