/*
 * Receipts: a caller keeps the receipt of a call, to settle later what the call really used. A receipt
 * is plain data. It says which units the call took; the key alone knows whether the receipt is open.
 */

import type { Decision, DecisionSource } from "../decision.ts";
import { typeError } from "../options/checks.ts";

/**
 * The answer of `reserve` for an admitted call: which units it took. It is plain data that survives
 * JSON, so another process may settle it. It is not signed: never give it to a client.
 */
export interface Receipt {
  /** The random number of the key's list of open receipts: 53 bits, at least 1. */
  readonly id: number;
  /** Its number in that list. */
  readonly number: number;
  /** The key. */
  readonly key: string;
  /** The family of the key: the limiter's prefix and the algorithm's id, as in stored keys. */
  readonly family: string;
  /** The units that it took. */
  readonly units: number;
  /** The instant from which it cannot be settled, in milliseconds since the Unix epoch. */
  readonly until: number;
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
 * `"settled"`: the receipt was open. Units that still counted were given back, or the excess was
 * charged. `"expired"`: its time is over. `"unknown"`: it was settled before, it was closed early
 * because its key had too many, or it belongs to another key, limiter, store or failure policy. If
 * the receipt is not settled, nothing changes.
 */
export type ReceiptOutcome = "settled" | "expired" | "unknown";

/** The answer of `settle` and `release`. */
export interface Settlement {
  /** The balance afterwards. */
  readonly decision: Decision;
  /** The outcome of the receipt. */
  readonly outcome: ReceiptOutcome;
  /**
   * Units given back; with a fraction if a unit had drained in part. For an `all`, the units of the
   * part that gave back most.
   */
  readonly returned: number;
  /** Units charged beyond those of the receipt. */
  readonly charged: number;
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
  const { id, number, key, family, units, until, marks } = value as Receipt;
  return isWhole(id) && id !== 0 && isWhole(number) && isWhole(units) && isWhole(until) &&
    typeof key === "string" && typeof family === "string" &&
    Array.isArray(marks) && marks.length <= MOST_MARKS && marks.every(isWhole);
}

function isWhole(value: unknown): boolean {
  return Number.isSafeInteger(value) && value as number >= 0;
}

/** A receipt as the state of a key makes it. */
export type Mark = Pick<Receipt, "id" | "number" | "until" | "marks">;

/** The part of a receipt that settling needs. */
export type Claim = Mark & Pick<Receipt, "units">;

/** The mark of units that a failure policy admitted: no key holds them. */
const NO_MARK: Mark = Object.freeze({ id: 1, number: 0, until: 0, marks: Object.freeze([]) });

/** The receipt of units that a call took. */
export function receiptFor(
  family: string,
  key: string,
  units: number,
  { source }: Decision,
  { id, number, until, marks }: Mark = NO_MARK,
): Receipt {
  return { id, number, key, family, units, until, marks, source };
}

/** The outcome of settling a receipt, and the next state; the same state if nothing changes. */
export interface Settled<State> extends Omit<Settlement, "decision"> {
  /** The next state. */
  readonly next: State;
}

/** How calls are settled later. All of it is pure; `now` is a whole number from 0 to 2^42. */
export interface Receipts<State = unknown> {
  /**
   * The state after an admitted call, with the receipt of that call.
   *
   * @param id A random number of at least 1, for a key without open receipts.
   */
  issue(after: State, now: number, id: number): State;
  /** The receipt that `issue` added to a state. */
  newest(after: State, now: number): Mark;
  /** Settles a receipt whose call used so many units. */
  settle(state: State, now: number, claim: Claim, used: number): Settled<State>;
  /** Whether a state has open receipts. */
  isOpen(state: State): boolean;
}
