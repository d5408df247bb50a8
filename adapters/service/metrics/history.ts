/*
 * What a service counted in each of the last 60 minutes: the differences between snapshots of what all
 * threads have counted, so that history costs a decision nothing. Its memory is bounded by the rules.
 */

import {
  type FiguresSnapshot,
  NO_FIGURES,
  ruleName,
  type VerdictFigures,
} from "./figures_snapshot.ts";
import { LATENCY_BUCKETS } from "./histogram.ts";

const MINUTE = 60_000;
const MINUTES = 60;

/** By how much an answer may overtake one that was asked for before; more is a clock set back. */
const OVERTAKEN = 30_000;

/** Verdicts of each of the last 60 minutes, the one that has begun last. */
export type VerdictHistory = { readonly [Name in keyof VerdictFigures]: readonly number[] };

/** Numbers by name. */
type Sums = Map<string, readonly number[]>;

/** What no rule is called, as its name has a domain. */
const [DECISIONS, EVICTIONS, LATENCY] = ["decisions", "evictions", "latency"] as const;

/** The last 60 minutes of all decisions. */
export interface HistoryTotals extends VerdictHistory {
  /** When the first of them began. */
  readonly from: number;
  /** Keys that the store forgot although they held use. */
  readonly evictions: readonly number[];
  /** Half of the calls took at most so many milliseconds; `null` where there are none. */
  readonly p50: readonly (number | null)[];
  /** 99 % of the calls, likewise. */
  readonly p99: readonly (number | null)[];
  /** The same of all 60 minutes. */
  readonly hour: { readonly p50: number | null; readonly p99: number | null };
}

/** The last 60 minutes of a service. */
export interface History {
  /**
   * Adds what was counted since the last time to the minute of that time. At least once a minute,
   * soon after it begins.
   *
   * @param now When the snapshot was asked for; one that was overtaken is left out.
   */
  record(figures: FiguresSnapshot, now: number): void;
  totals(): HistoryTotals;
  /** What a rule said since the start, by its `ruleName`. */
  verdicts(name: string): VerdictFigures;
  /** What it said in each minute; `undefined` if it said nothing. */
  minutes(name: string): VerdictHistory | undefined;
}

/** Makes a history that begins now. */
export function history(start: number): History {
  /** By how much the sums grew in each minute. */
  const minutes = new Map<number, Sums>();
  let sums: Sums = sumsOf(NO_FIGURES);
  let until = start;

  /** Of a name, how much each of its sums grew in each of the last 60 minutes. */
  function grown(name: string): readonly (readonly number[])[] {
    const none = sums.get(name)!.map(() => 0);
    const last = Math.floor(until / MINUTE);
    return Array.from(
      { length: MINUTES },
      (_, place) => minutes.get(last - MINUTES + 1 + place)?.get(name) ?? none,
    );
  }

  return {
    record(figures, now): void {
      if (now < until && until - now < OVERTAKEN) return;
      const next = sumsOf(figures);
      const last = Math.floor(now / MINUTE);
      const minute = Math.min(last, Math.floor(until / MINUTE));
      const growth = minutes.get(minute) ?? new Map();
      addGrowth(growth, sums, next);
      minutes.set(minute, growth);
      for (const each of minutes.keys()) {
        if (each > last || each <= last - MINUTES) minutes.delete(each);
      }
      for (const name of sums.keys()) {
        if (!next.has(name)) minutes.forEach((growth) => growth.delete(name));
      }
      sums = next;
      until = now;
    },
    totals(): HistoryTotals {
      const latency = grown(LATENCY);
      const hour = latency.reduce((sums, row) => sums.map((sum, bucket) => sum + row[bucket]!));
      return {
        from: (Math.floor(until / MINUTE) - MINUTES + 1) * MINUTE,
        ...verdictHistory(grown(DECISIONS)),
        evictions: grown(EVICTIONS).map(([evictions]) => evictions!),
        p50: latency.map((row) => quantile(row, 0.5)),
        p99: latency.map((row) => quantile(row, 0.99)),
        hour: { p50: quantile(hour, 0.5), p99: quantile(hour, 0.99) },
      };
    },
    verdicts(name): VerdictFigures {
      const [admitted = 0, refused = 0, shadowRefused = 0] = sums.get(name) ?? [];
      return { admitted, refused, shadowRefused };
    },
    minutes(name): VerdictHistory | undefined {
      const isKnown = [...minutes.values()].some((growth) => growth.has(name));
      return isKnown ? verdictHistory(grown(name)) : undefined;
    },
  };
}

/** All sums by name; those of a rule are of all of its keys. */
function sumsOf({ decisions, store, latency, rules }: FiguresSnapshot): Sums {
  const sums: Sums = new Map([
    [DECISIONS, verdictSums(decisions)],
    [EVICTIONS, [store["evictions"] ?? 0]],
    [LATENCY, latency],
  ]);
  for (const figures of rules) {
    const name = ruleName(figures);
    sums.set(name, verdictSums(figures, sums.get(name)));
  }
  return sums;
}

function verdictSums(
  { admitted, refused, shadowRefused }: VerdictFigures,
  [others = 0, refusals = 0, shadows = 0]: readonly number[] = [],
): readonly number[] {
  return [others + admitted, refusals + refused, shadows + shadowRefused];
}

/** Adds what is new. A sum that is smaller than before is of a rule that came back: it began anew. */
function addGrowth(growth: Sums, before: Sums, next: Sums): void {
  for (const [name, sums] of next) {
    const last = before.get(name);
    if (!sums.some((sum, place) => sum > (last?.[place] ?? 0))) continue;
    const known = growth.get(name);
    const grown = sums.map((sum, place) =>
      Math.max(0, sum - (last?.[place] ?? 0)) + (known?.[place] ?? 0)
    );
    growth.set(name, grown);
  }
}

function verdictHistory(rows: readonly (readonly number[])[]): VerdictHistory {
  const [admitted = [], refused = [], shadowRefused = []] = [0, 1, 2].map((place) =>
    rows.map((row) => row[place]!)
  );
  return { admitted, refused, shadowRefused };
}

/** A quantile in milliseconds, by a line through its bucket; `null` if there are no calls. */
function quantile(row: readonly number[], part: number): number | null {
  const calls = row.reduce((sum, count) => sum + count, 0);
  if (calls === 0) return null;
  let rank = part * calls;
  let bucket = 0;
  while (bucket < LATENCY_BUCKETS.length && rank > row[bucket]!) rank -= row[bucket++]!;
  const start = LATENCY_BUCKETS[bucket - 1] ?? 0;
  const end = LATENCY_BUCKETS[bucket] ?? start;
  const seconds = start + (end - start) * rank / (row[bucket]! || 1);
  return Math.round(seconds * 1e6) / 1e3;
}
