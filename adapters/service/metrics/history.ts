/*
 * The counts of a service in each of the last 60 minutes: the differences between snapshots of all
 * threads' counts, so that history costs a decision nothing. Its memory is bounded by the rules.
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

/**
 * The milliseconds by which an answer may overtake an earlier request. A larger difference means
 * that the clock was set back.
 */
const OVERTAKEN = 30_000;

/** Verdicts of each of the last 60 minutes; the current minute is last. */
export type VerdictHistory = { readonly [Name in keyof VerdictFigures]: readonly number[] };

/** Sums that only grow, and by how much each grew in each minute: row `minute % 60`. */
interface Series {
  sums: readonly number[];
  readonly rows: Uint32Array;
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
  for (const [name, { length }] of sumsOf(NO_FIGURES)) all.set(name, seriesOf(length));
  let until = start;

  return {
    record(figures, now): void {
      if (now < until && until - now < OVERTAKEN) return;
      const next = sumsOf(figures);
      const [minute, last] = [Math.floor(until / MINUTE), Math.floor(now / MINUTE)];
      for (const name of all.keys()) if (!next.has(name)) all.delete(name);
      for (const [name, sums] of next) {
        const series = all.get(name) ?? seriesOf(sums.length);
        all.set(name, series);
        take(series, sums, minute, last);
      }
      until = now;
    },
    totals(): HistoryTotals {
      const minute = Math.floor(until / MINUTE);
      const rows = minutesTo(minute).map((each) => rowOf(all.get(LATENCY)!, each));
      const hour = rows.reduce((sums, row) => sums.map((sum, bucket) => sum + row[bucket]!));
      return {
        from: (minute - MINUTES + 1) * MINUTE,
        ...historyOf(all.get(DECISIONS)!, minute),
        evictions: column(all.get(EVICTIONS)!, 0, minute),
        p50: rows.map((row) => quantile(row, 0.5)),
        p99: rows.map((row) => quantile(row, 0.99)),
        hour: { p50: quantile(hour, 0.5), p99: quantile(hour, 0.99) },
      };
    },
    verdicts(name): VerdictFigures {
      const [admitted = 0, refused = 0, shadowRefused = 0, unavailable = 0] = all.get(name)?.sums ??
        [];
      return { admitted, refused, shadowRefused, unavailable };
    },
    minutes(name): VerdictHistory | undefined {
      const series = all.get(name);
      return series?.rows.some((count) => count > 0)
        ? historyOf(series, Math.floor(until / MINUTE))
        : undefined;
    },
  };
}

function seriesOf(width: number): Series {
  return { sums: new Array<number>(width).fill(0), rows: new Uint32Array(MINUTES * width) };
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
    sums.set(name, verdictSums(figures, sums.get(name)));
  }
  return sums;
}

function verdictSums(
  { admitted, refused, shadowRefused, unavailable }: VerdictFigures,
  [others = 0, refusals = 0, shadows = 0, undecided = 0]: readonly number[] = [],
): readonly number[] {
  return [others + admitted, refusals + refused, shadows + shadowRefused, undecided + unavailable];
}

/**
 * Adds the new counts to the row of the minute, and empties the rows of the minutes after it. A sum
 * that is smaller than before belongs to a rule that was removed and added again.
 */
function take(series: Series, next: readonly number[], minute: number, last: number): void {
  const { sums, rows } = series;
  const width = next.length;
  next.forEach((sum, index) => {
    rows[minute % MINUTES * width + index]! += Math.max(0, sum - sums[index]!);
  });
  series.sums = next;
  for (let each = Math.max(minute + 1, last - MINUTES + 1); each <= last; each++) {
    rows.fill(0, each % MINUTES * width, (each % MINUTES + 1) * width);
  }
}

function minutesTo(last: number): readonly number[] {
  return Array.from({ length: MINUTES }, (_, index) => last - MINUTES + 1 + index);
}

function rowOf({ sums, rows }: Series, minute: number): readonly number[] {
  const row = minute % MINUTES * sums.length;
  return [...rows.subarray(row, row + sums.length)];
}

function column({ sums, rows }: Series, index: number, last: number): readonly number[] {
  return minutesTo(last).map((minute) => rows[minute % MINUTES * sums.length + index]!);
}

function historyOf(series: Series, last: number): VerdictHistory {
  const of = (index: number) => column(series, index, last);
  return { admitted: of(0), refused: of(1), shadowRefused: of(2), unavailable: of(3) };
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
