/*
 * `consumeAll`: one charge on several limiters of one store, all or nothing, where `all` combines
 * several limits of one key.
 */

import { andThen } from "../maybe_promise.ts";
import {
  checkCost,
  checkOptions,
  checkText,
  type OptionNames,
  typeError,
} from "../options/checks.ts";
import { combineDecisions } from "../algorithms/combine_decisions.ts";
import type { Decision } from "../decision.ts";
import { type AsyncLimiter, internalsOf, type Limiter, type LimiterInternals } from "./limiter.ts";
import type { Operation } from "../store.ts";

/**
 * One key of several.
 *
 * @typeParam OfLimiter `Limiter` or `AsyncLimiter`.
 */
export interface Entry<OfLimiter> {
  /** Whose limit. */
  readonly limiter: OfLimiter;
  /** Whose units: a non-empty string. */
  readonly key: string;
  /** Units to take, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
  /** Whether to charge them, beyond the limit if need be, as `charge` does; default `false`. */
  readonly charge?: boolean | undefined;
}

const ACTION = "consume all";

/**
 * Takes from several keys of one store at one instant, all or nothing: a user and an address, an
 * account and a project. It answers as `all` does, with each entry's decision in `parts`. An entry
 * that charges is never refused itself, and charges nothing if another one is.
 *
 * @param entries At least one; all on one store and one clock, no stored key twice.
 * @returns The decision; a promise of it on a store that answers by promises.
 * @throws {TypeError} If there is no entry, or entries are of several stores or clocks, or one
 * stored key comes twice, or a key is no non-empty string.
 * @throws {RangeError} If a cost is no integer of at least 0.
 *
 * @example
 * ```ts
 * import { consumeAll, gcra, limiter, memoryStore } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const store = memoryStore();
 * const byUser = limiter(gcra({ limit: 2, period: "1m" }), { store, prefix: "user" });
 * const byAddress = limiter(gcra({ limit: 1, period: "1m" }), { store, prefix: "address" });
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
/** The same on a store that answers by promises. */
export function consumeAll(entries: readonly Entry<AsyncLimiter>[]): Promise<Decision>;
/** The same on a store of either kind. */
export function consumeAll(
  entries: readonly Entry<Limiter | AsyncLimiter>[],
): Decision | Promise<Decision>;
export function consumeAll(
  entries: readonly Entry<Limiter | AsyncLimiter>[],
): Decision | Promise<Decision> {
  if (!Array.isArray(entries) || entries.length === 0) {
    throw typeError(ACTION, "it needs a list of at least one entry", entries);
  }
  const parts = entries.map((entry) => partOf(entry));
  requireTogether(entries, parts);
  const capacity = Math.min(...entries.map(({ limiter }) => limiter.algorithm.capacity));
  const answer = entries[0]!.limiter.store.run(
    parts.map((part) => part.operation),
    parts[0]!.limiter.now(),
  );
  return andThen(answer, reported) as Decision | Promise<Decision>;

  function reported(decisions: readonly Decision[]): Decision {
    decisions.forEach((decision, index) => {
      const { limiter, operation } = parts[index]!;
      limiter.report(decision, entries[index]!.key, operation.cost);
    });
    return combineDecisions(decisions, capacity);
  }
}

interface Part {
  readonly limiter: LimiterInternals;
  readonly operation: Operation;
}

const ENTRY_OPTIONS: OptionNames<Entry<unknown>> = {
  limiter: true,
  key: true,
  cost: true,
  charge: true,
};

function partOf(entry: Entry<Limiter | AsyncLimiter>): Part {
  checkOptions(ACTION, entry ?? {}, ENTRY_OPTIONS);
  const { limiter, key, cost = 1, charge = false } = entry ?? {};
  const internals = typeof limiter === "object" && limiter !== null
    ? internalsOf(limiter)
    : undefined;
  if (internals === undefined) {
    throw typeError(ACTION, "each entry must have a limiter", limiter);
  }
  checkText(ACTION, "key", key);
  checkCost(ACTION, cost, 0);
  return { limiter: internals, operation: internals.operation(key, cost, charge) };
}

function requireTogether(
  entries: readonly Entry<Limiter | AsyncLimiter>[],
  parts: readonly Part[],
): void {
  const { store } = entries[0]!.limiter;
  const { clock } = parts[0]!.limiter;
  const seen = new Set<string>();
  parts.forEach(({ limiter, operation: { key } }, index) => {
    if (entries[index]!.limiter.store !== store) {
      throw typeError(ACTION, "all entries must be of one store", "several");
    }
    if (limiter.clock !== clock) {
      throw typeError(ACTION, "all entries must be of one clock", "several");
    }
    if (seen.has(key)) throw typeError(ACTION, "no stored key may come twice", key);
    seen.add(key);
  });
}
