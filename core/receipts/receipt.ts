/*
 * Receipts: a caller keeps the receipt of a call, to give its units back later. A receipt is plain
 * data that says which units these are, so giving them back never frees the units of another call.
 */

import type { Decision, DecisionSource } from "../decision.ts";
import { typeError } from "../options/checks.ts";

/**
 * The answer of `reserve` for an admitted call: which units it took. It is plain data that survives
 * JSON, so another process may settle it. It is not signed: never give it to a client.
 */
export interface Receipt {
  /** A random number of 53 bits, at least 1, which tells receipts apart. */
  readonly id: number;
  /** The key. */
  readonly key: string;
  /** The family of the key: the limiter's prefix and the algorithm's id, as in stored keys. */
  readonly family: string;
  /**
   * The name of the store that holds the units: a random text that the store itself keeps, so that
   * processes which share the data share the name. `undefined` if the store could not be asked for
   * its name; such a receipt gives nothing back.
   */
  readonly store?: string | undefined;
  /** The instant of the call, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** The units that it took. */
  readonly units: number;
  /** The instant from which no unit can be given back any more. */
  readonly until: number;
  /**
   * Whether the receipt has a time to live: unless it was settled, its units come back at `until`.
   */
  readonly expires: boolean;
  /** The numbers by which the algorithm finds the units again. */
  readonly marks: readonly number[];
  /** The source that admitted the call in place of the limiter's own store. */
  readonly source?: DecisionSource | undefined;
}

/** The answer of `reserve`. */
export interface Reservation {
  /** The decision. */
  readonly decision: Decision;
  /** The receipt; `undefined` if the call was refused. */
  readonly receipt: Receipt | undefined;
}

/**
 * The outcome of a receipt.
 *
 * `"settled"`: the receipt was known. Units that still counted were given back, or the excess was
 * charged. `"expired"`: its time is over. Nothing was changed. `"unknown"`: it was settled before,
 * or it belongs to another key, algorithm or store, or to a failure policy. Nothing was changed.
 */
export type ReceiptOutcome = "settled" | "expired" | "unknown";

/** The answer of `settle`, `release`, and `refund` with a receipt. */
export interface Settlement {
  /** The balance afterwards. */
  readonly decision: Decision;
  /**
   * Units given back; with a fraction if a unit had drained in part. For an `all`, the units of the
   * part that gave back most.
   */
  readonly returned: number;
  /** Units charged beyond those of the receipt. */
  readonly charged: number;
  /** The outcome of the receipt. */
  readonly outcome: ReceiptOutcome;
}

/** The most numbers in a receipt, enough for an `all` with very many parts. */
const MOST_MARKS = 4_096;

/**
 * Throws a `TypeError` if a value is not a receipt. The check is needed because receipts may come
 * from other processes.
 */
export function checkReceipt(action: string, value: unknown): Receipt {
  if (isReceipt(value)) return value;
  throw typeError(action, "receipt must come from reserve", value);
}

function isReceipt(value: unknown): value is Receipt {
  if (typeof value !== "object" || value === null) return false;
  const { id, key, family, at, units, until, expires, marks } = value as Receipt;
  // The id 0 is for units that no key remembers.
  return id !== 0 && isWhole(id) && isWhole(at) && isWhole(units) && isWhole(until) &&
    typeof key === "string" && typeof family === "string" &&
    typeof expires === "boolean" && Array.isArray(marks) && marks.length <= MOST_MARKS &&
    marks.every(isWhole);
}

function isWhole(value: unknown): boolean {
  return Number.isSafeInteger(value) && value as number >= 0;
}
