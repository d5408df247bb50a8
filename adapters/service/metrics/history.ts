/*
 * The counts of a service in each of the last 60 minutes: the differences between snapshots of all
 * threads' counts, so that history costs a decision nothing. Its memory is bounded by the rules.
 */

import { type FiguresSnapshot, ruleName, type VerdictFigures } from "./figures_snapshot.ts";
import { LATENCY_BUCKETS } from "./histogram.ts";

const MINUTE = 60_000;
const MINUTES = 60;

/**
 * The milliseconds by which an answer may overtake an earlier request. A larger difference means
 * that the clock was set back.
 */
const OVERTAKEN = 30_000;

/** Verdicts of each of the last 60 minutes; the current minute is last. */
export type VerdictHistory = { readonly [Name in keyof VerdictFigures]: readonly number[] };

/** Sums that only grow, and by how much they grew in minutes in which they did. */
interface Series {
  readonly sums: readonly number[];
  readonly grown: Map<number, readonly number[]>;
}

/** Names that no rule can have, because a rule's name contains its domain. */
const [DECISIONS, EVICTIONS, LATENCY] = ["decisions", "evictions", "latency"] as const;

/** The last 60 minutes of all decisions. */
export interface HistoryTotals extends VerdictHistory {
  /** When the first of them began. */
  readonly from: number;
  /** Keys that the store forgot although they held use. */
  readonly evictions: readonly number[];
  /** Half of the calls took at most so many milliseconds; `null` for minutes without calls. */
  readonly p50: readonly (number | null)[];
  /** 99 % of the calls, likewise. */
  readonly p99: readonly (number | null)[];
  /** Both quantiles for all 60 minutes. */
  readonly hour: { readonly p50: number | null; readonly p99: number | null };
}

/** The last 60 minutes of a service. */
export interface History {
  /**
   * Adds the counts since the last call to the minute of that call. Call it at least once a minute,
   * soon after the minute begins.
   *
   * @param now When the snapshot was requested. A snapshot that was overtaken is left out.
   */
  record(figures: FiguresSnapshot, now: number): void;
  totals(): HistoryTotals;
  /** A rule's verdicts since the start, by its `ruleName`. */
  verdicts(name: string): VerdictFigures;
  /** A rule's verdicts in each minute; `undefined` if it gave none. */
  minutes(name: string): VerdictHistory | undefined;
}

/** Makes a history that begins now. */
export function history(start: number): History {
  const all = new Map<string, Series>();
  let until = start;

  /** The growth of a series in each of the last 60 minutes. */
  function rows(name: string): readonly (readonly number[])[] {
    const last = Math.floor(until / MINUTE);
    const grown = all.get(name)?.grown;
    return Array.from({ length: MINUTES }, (_, row) => grown?.get(last - MINUTES + 1 + row) ?? []);
  }

  function verdictsOf(name: string): VerdictHistory {
    const of = (index: number) => rows(name).map((row) => row[index] ?? 0);
    return { admitted: of(0), refused: of(1), shadowRefused: of(2), unavailable: of(3) };
  }

  return {
    record(figures, now): void {
      if (now < until && until - now < OVERTAKEN) return;
      const next = sumsOf(figures);
      const last = Math.floor(now / MINUTE);
      // The clock may have been set back.
      const minute = Math.min(Math.floor(until / MINUTE), last);
      for (const name of all.keys()) if (!next.has(name)) all.delete(name);
      for (const [name, sums] of next) {
        const { sums: before, grown } = all.get(name) ?? { sums: [], grown: new Map() };
        // A sum that is smaller than before belongs to a rule that was removed and added again.
        const growth = sums.map((sum, index) => Math.max(0, sum - (before[index] ?? 0)));
        if (growth.some((sum) => sum > 0)) grown.set(minute, added(growth, grown.get(minute)));
        for (const each of grown.keys()) if (each <= last - MINUTES) grown.delete(each);
        all.set(name, { sums, grown });
      }
      until = now;
    },
    totals(): HistoryTotals {
      const latency = rows(LATENCY);
      const hour = latency.reduce<readonly number[]>((sums, row) => added(row, sums), []);
      return {
        from: (Math.floor(until / MINUTE) - MINUTES + 1) * MINUTE,
        ...verdictsOf(DECISIONS),
        evictions: rows(EVICTIONS).map(([evictions = 0]) => evictions),
        p50: latency.map((row) => quantile(row, 0.5)),
        p99: latency.map((row) => quantile(row, 0.99)),
        hour: { p50: quantile(hour, 0.5), p99: quantile(hour, 0.99) },
      };
    },
    verdicts(name): VerdictFigures {
      const [admitted = 0, refused = 0, shadowRefused = 0, unavailable = 0] = all.get(name)?.sums ??
        [];
      return { admitted, refused, shadowRefused, unavailable };
    },
    minutes: (name) => rows(name).some(({ length }) => length > 0) ? verdictsOf(name) : undefined,
  };
}

/** The sums of two rows, of which the second may be shorter. */
function added(row: readonly number[], other: readonly number[] = []): readonly number[] {
  return row.length === 0 ? other : row.map((count, index) => count + (other[index] ?? 0));
}

/** All sums by name; the sums of a rule cover all of its keys. */
function sumsOf({ decisions, store, latency, rules }: FiguresSnapshot) {
  const sums = new Map<string, readonly number[]>([
    [DECISIONS, verdictSums(decisions)],
    [EVICTIONS, [store["evictions"] ?? 0]],
    [LATENCY, latency],
  ]);
  for (const figures of rules) {
    const name = ruleName(figures);
    sums.set(name, added(verdictSums(figures), sums.get(name)));
  }
  return sums;
}

function verdictSums(verdicts: VerdictFigures): readonly number[] {
  const { admitted, refused, shadowRefused, unavailable } = verdicts;
  return [admitted, refused, shadowRefused, unavailable];
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
