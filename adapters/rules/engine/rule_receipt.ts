/*
 * The receipt of a request, of all counters of its rules: plain data that any process with the same
 * rules and the same store can settle. It holds the request, from which the rules find the counters
 * again, and a receipt for each counter.
 */

import { checkCost, checkInteger, typeError } from "../../../core/options/checks.ts";
import {
  checkReceipt,
  type Receipt,
  type ReceiptOutcome,
  type Settlement,
} from "../../../core/receipts/receipt.ts";
import type { Rule, Verdict } from "../../../core/rules/rules.ts";
import { checkRuleRequest, type RuleRequest } from "./rule_request.ts";

/** Permits that a request holds. It survives JSON; never give it to a client. */
export interface RulePermit extends Pick<RuleRequest, "domain" | "descriptors"> {
  /** A random number of 53 bits, by which stores know the permits. */
  readonly id: number;
  /** Units for each descriptor without a cost of its own. */
  readonly cost: number;
  /** Milliseconds until the permits expire unless they are renewed; `undefined` if there are none. */
  readonly ttl?: number | undefined;
}

/** Units that a request has reserved, and its permits. It survives JSON; never give it to a client. */
export interface RuleReceipt extends RulePermit {
  /** The receipt of each counter. */
  readonly parts: readonly Receipt[];
}

/** The answer of `reserve`. */
export interface RuleReservation {
  /** The verdict. */
  readonly verdict: Verdict;
  /** The receipt to settle; `undefined` if the request was refused and holds nothing. */
  readonly receipt: RuleReceipt | undefined;
}

/** The answer of `hold`. */
export interface RuleHold {
  /** The verdict. */
  readonly verdict: Verdict;
  /** The permits; `undefined` if the request was refused and holds none. */
  readonly permit: RulePermit | undefined;
}

/** Units that were used: a number for the descriptors without a cost of their own, or a list with one
 * for each descriptor. */
export type ActualCost = number | readonly (number | undefined)[];

/** The end of one counter's units. */
export interface SettledCounter extends Settlement {
  /** The counter's rule. */
  readonly rule: Rule;
  /** The counter's key. */
  readonly key: string;
}

/** The answer of `settle`, and of `release` with a receipt. */
export interface RuleSettlement {
  /**
   * `"settled"` if a counter was settled, or nothing was limited; otherwise `"expired"` if a
   * counter's receipt had expired; otherwise `"unknown"`, because the receipt was settled before or
   * the rules have changed since.
   */
  readonly outcome: ReceiptOutcome;
  /** Units given back by the counter that gave back most. */
  readonly returned: number;
  /** Units charged beyond the receipt on the counter that was charged most. */
  readonly charged: number;
  /** Each counter. */
  readonly counters: readonly SettledCounter[];
}

/** The most counters of a receipt: no request has more. */
const MOST_PARTS = 1_000;

/**
 * Requires a permit or a receipt, because the value may come from another process.
 *
 * @throws {TypeError} If it is not a receipt.
 * @throws {RangeError} If a number of it is out of range.
 */
export function checkHolding(action: string, given: RulePermit | RuleReceipt): void {
  if (typeof given !== "object" || given === null) {
    throw typeError(action, "it needs what hold or reserve answered", given);
  }
  checkRuleRequest(given);
  const { id, cost, descriptors } = given;
  checkInteger(action, "id", id, 1);
  checkCost(action, cost, 0);
  if (descriptors.some(({ limit }) => limit !== undefined)) {
    throw typeError(action, "its descriptors must have no limit of their own", "one that has");
  }
  if (!isReceipt(given)) return;
  const { parts } = given;
  if (!Array.isArray(parts) || parts.length > MOST_PARTS) {
    throw typeError(action, `parts must be a list of at most ${MOST_PARTS} receipts`, parts);
  }
  for (const part of parts) checkReceipt(action, part);
}

/** Whether units were reserved. */
export function isReceipt(held: RulePermit | RuleReceipt): held is RuleReceipt {
  return "parts" in held;
}

/** Outcomes of counters; the first that any counter has is the outcome of all together. */
const OUTCOMES: readonly ReceiptOutcome[] = ["settled", "expired", "unknown"];

/**
 * The outcome of several counters.
 *
 * @param none The outcome if there are no counters.
 */
export function settlementOf(
  counters: readonly SettledCounter[],
  none: ReceiptOutcome,
): RuleSettlement {
  const outcomes = counters.map(({ outcome }) => outcome);
  return {
    outcome: OUTCOMES.find((outcome) => outcomes.includes(outcome)) ?? none,
    returned: Math.max(0, ...counters.map(({ returned }) => returned)),
    charged: Math.max(0, ...counters.map(({ charged }) => charged)),
    counters,
  };
}
