/*
 * `consumeAll`: one charge on several limiters of one store, all or nothing, where `all` combines
 * several limits of one key.
 */

import { isPromise } from "../maybe_promise.ts";
import {
  checkCost,
  checkOptions,
  checkText,
  type OptionNames,
  typeError,
} from "../options/checks.ts";
import { combineDecisions } from "../algorithms/combine_decisions.ts";
import type { Decision } from "../decision.ts";
import { internalsOf, type LimiterInternals, requireTogether } from "./limiter_internals.ts";
import type { AsyncLimiter, Limiter } from "./limiter_types.ts";
import { failOnEntries } from "./fail_on.ts";
import { newPermitId } from "./permit_ids.ts";
import { repeatedOperation } from "../repeated_operation.ts";
import { type Ask, askBackably, askBy } from "../together/ask.ts";
import { takeAll } from "../together/take_all.ts";
import { charge } from "../verbs/charge.ts";
import { consume } from "../verbs/consume.ts";

/**
 * One key of a `consumeAll`.
 *
 * @typeParam OfLimiter `Limiter` or `AsyncLimiter`.
 */
export interface Entry<OfLimiter> {
  /** The limiter that decides. */
  readonly limiter: OfLimiter;
  /** The limiter's key: a non-empty string. */
  readonly key: string;
  /** Units to take, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
  /**
   * Whether to charge the units, beyond the limit if need be, as `charge` does; default `false`.
   */
  readonly charge?: boolean | undefined;
}

const ACTION = "consume all";

/**
 * Takes from several keys of one store at one instant, all or nothing: a user and an address, an
 * account and a project. It answers as `all` does, with each entry's decision in `parts`. An entry
 * that charges is never refused itself, and charges nothing if another entry is refused.
 *
 * @param entries At least one; all on one store and one clock, no stored key twice.
 * @returns The decision; a promise of it on a store that answers by promises.
 * @throws {TypeError} If there is no entry, if entries differ in their store or clock, if a stored
 * key comes twice, or if a key is not a non-empty string.
 * @throws {RangeError} If a cost is not an integer of at least 0.
 *
 * @example
 * ```ts
 * import { consumeAll, gcra, limiter, memoryStore } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const store = memoryStore();
 * const byUser = limiter(gcra({ limit: 2, period: "1m", burst: 2 }), { store, prefix: "user" });
 * const byAddress = limiter(gcra({ limit: 1, period: "1m", burst: 1 }), { store, prefix: "address" });
 * const entries = [
 *   { limiter: byUser, key: "42" },
 *   { limiter: byAddress, key: "192.0.2.7" },
 * ];
 *
 * assert.equal(consumeAll(entries).allowed, true);
 * assert.equal(consumeAll(entries).allowed, false);
 * assert.equal(byUser.peek("42").allowed, true); // was not charged for the refused call
 * ```
 */
export function consumeAll(entries: readonly Entry<Limiter>[]): Decision;
/** `consumeAll` on a store that answers by promises. */
export function consumeAll(entries: readonly Entry<AsyncLimiter>[]): Promise<Decision>;
/** `consumeAll` on a store of either kind. */
export function consumeAll(
  entries: readonly Entry<Limiter | AsyncLimiter>[],
): Decision | Promise<Decision>;
export function consumeAll(
  entries: readonly Entry<Limiter | AsyncLimiter>[],
): Decision | Promise<Decision> {
  try {
    return consumeEntries(entries);
  } catch (error) {
    return failOnEntries(entries, error);
  }
}

function consumeEntries(
  entries: readonly Entry<Limiter | AsyncLimiter>[],
): Decision | Promise<Decision> {
  requireEntries(ACTION, entries);
  const asks: LimiterAsk[] = [];
  const { store } = (entries[0]?.limiter ?? {}) as Partial<AsyncLimiter>;
  const consuming = store?.slotOf === undefined ? CONSUME : askBackably(newPermitId());
  for (const entry of entries as readonly Entry<Limiter | AsyncLimiter>[]) {
    const counter = counterOf(entry);
    const { key, cost = 1, charge: charges = false } = entry;
    checkText(ACTION, "key", key);
    checkCost(ACTION, cost, 0);
    asks.push((charges ? CHARGE : consuming)(counter, key, cost));
  }
  requireDistinct(ACTION, asks);
  const answers = takeAll(store!, asks, asks[0]!.counter.now());
  return isPromise(answers)
    ? answers.then((known) => reported(asks, known)) as Promise<Decision>
    : reported(asks, answers);
}

/** An ask of a limiter. */
export type LimiterAsk = Ask<LimiterInternals>;

const CONSUME = askBy(consume);
const CHARGE = askBy(charge);

/** The decision of all asks together, after each limiter has reported its own decision. */
export function reported(asks: readonly LimiterAsk[], answers: readonly unknown[]): Decision {
  const decisions: Decision[] = [];
  let capacity = Infinity;
  for (let index = 0; index < asks.length; index++) {
    const { counter, bound: { verb }, key, argument } = asks[index]!;
    const decision = verb.decisionOf(answers[index]);
    counter.report(decision, key, verb.units(argument));
    decisions.push(decision);
    capacity = Math.min(capacity, counter.algorithm.capacity);
  }
  return combineDecisions(decisions, capacity);
}

const ENTRY_OPTIONS: OptionNames<Entry<unknown>> = {
  limiter: true,
  key: true,
  cost: true,
  charge: true,
};

function counterOf(entry: Entry<Limiter | AsyncLimiter>): LimiterInternals {
  if (!isUsual(entry)) checkOptions(ACTION, entry ?? {}, ENTRY_OPTIONS);
  const { limiter } = entry ?? {};
  const internals = internalsOf(limiter);
  if (internals !== undefined) return internals;
  throw typeError(ACTION, "each entry must have a limiter", limiter);
}

/**
 * Whether an entry is an object whose names are all options. Counting names is not enough, because
 * a getter of a class hides its name.
 */
function isUsual(entry: unknown): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  for (const name in entry) {
    // Comparing names is faster than looking each of them up.
    if (name !== "limiter" && name !== "key" && name !== "cost" && name !== "charge") return false;
  }
  return true;
}

/** Requires a list that is not empty. */
export function requireEntries(action: string, entries: readonly unknown[]): void {
  if (Array.isArray(entries) && entries.length > 0) return;
  throw typeError(action, "it needs a list of at least one entry", entries);
}

/** Requires keys of one store and one clock that all differ. */
export function requireDistinct(action: string, asks: readonly LimiterAsk[]): void {
  requireTogether(action, asks);
  const repeated = repeatedOperation(asks);
  if (repeated === undefined) return;
  const { bound: { family }, key } = repeated;
  throw typeError(action, "each stored key must occur only once", family.nameOf(key));
}
