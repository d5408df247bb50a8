/*
 * What a service counted in each of the last 60 minutes: the differences between snapshots of what all
 * threads have counted, so that history costs a decision nothing. Its memory is bounded by the rules.
 */

import {
  type FiguresSnapshot,
  LATENCY_BUCKETS,
  type VerdictFigures,
  verdictsByRule,
} from "./figures_snapshot.ts";

const MINUTE = 60_000;
const MINUTES = 60;

/** Verdicts of each of the last 60 minutes, the one that has begun last. */
export type VerdictHistory = { readonly [Name in keyof VerdictFigures]: readonly number[] };

/** Sums that only grow, and by how much each grew in each minute: row `minute % 60`. */
interface Series {
  sums: readonly number[];
  readonly rows: Uint32Array;
}

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
   * @param now When the snapshot was asked for; an earlier one than the last is left out.
   */
  record(figures: FiguresSnapshot, now: number): void;
  totals(): HistoryTotals;
  /** What a rule said, by its `ruleName`; `undefined` if it said nothing. */
  ofRule(name: string): VerdictHistory | undefined;
}

/** Makes a history that begins now. */
export function history(start: number): History {
  const total = seriesOf(3);
  const evictions = seriesOf(1);
  const latency = seriesOf(LATENCY_BUCKETS.length + 1);
  const rules = new Map<string, Series>();
  let until = start;

  return {
    record(figures, now): void {
      if (now < until) return;
      const minute = Math.floor(until / MINUTE);
      add(total, minute, verdictsOf(figures.decisions));
      add(evictions, minute, [figures.store["evictions"] ?? 0]);
      add(latency, minute, figures.latency);
      const known = new Set(rules.keys());
      for (const [name, verdicts] of verdictsByRule(figures.rules)) {
        known.delete(name);
        let series = rules.get(name);
        if (series === undefined) rules.set(name, series = seriesOf(3));
        add(series, minute, verdictsOf(verdicts));
      }
      for (const gone of known) rules.delete(gone);
      for (const series of [total, evictions, latency, ...rules.values()]) {
        clear(series, minute + 1, Math.floor(now / MINUTE));
      }
      until = now;
    },
    totals(): HistoryTotals {
      const minute = Math.floor(until / MINUTE);
      const rows = minutesTo(minute).map((each) => rowOf(latency, each));
      const hour = rows.reduce((sums, row) => sums.map((sum, bucket) => sum + row[bucket]!));
      return {
        from: (minute - MINUTES + 1) * MINUTE,
        ...historyOf(total, minute),
        evictions: column(evictions, 0, minute),
        p50: rows.map((row) => quantile(row, 0.5)),
        p99: rows.map((row) => quantile(row, 0.99)),
        hour: { p50: quantile(hour, 0.5), p99: quantile(hour, 0.99) },
      };
    },
    ofRule(name): VerdictHistory | undefined {
      const series = rules.get(name);
      return series?.rows.some((count) => count > 0)
        ? historyOf(series, Math.floor(until / MINUTE))
        : undefined;
    },
  };
}

function seriesOf(width: number): Series {
  return { sums: new Array(width).fill(0), rows: new Uint32Array(MINUTES * width) };
}

function verdictsOf({ admitted, refused, shadowRefused }: VerdictFigures): readonly number[] {
  return [admitted, refused, shadowRefused];
}

/** A sum that is smaller than before is of a rule that came back: it began anew. */
function add(series: Series, minute: number, sums: readonly number[]): void {
  const row = minute % MINUTES * sums.length;
  sums.forEach((sum, place) => {
    series.rows[row + place]! += Math.max(0, sum - series.sums[place]!);
  });
  series.sums = sums;
}

/** Empties the rows of these minutes, each at most once. */
function clear({ sums, rows }: Series, first: number, last: number): void {
  for (let minute = Math.max(first, last - MINUTES + 1); minute <= last; minute++) {
    const row = minute % MINUTES * sums.length;
    rows.fill(0, row, row + sums.length);
  }
}

function minutesTo(last: number): readonly number[] {
  return Array.from({ length: MINUTES }, (_, place) => last - MINUTES + 1 + place);
}

function rowOf({ sums, rows }: Series, minute: number): readonly number[] {
  const row = minute % MINUTES * sums.length;
  return [...rows.subarray(row, row + sums.length)];
}

function column({ sums, rows }: Series, place: number, last: number): readonly number[] {
  return minutesTo(last).map((minute) => rows[minute % MINUTES * sums.length + place]!);
}

function historyOf(series: Series, last: number): VerdictHistory {
  const [admitted, refused, shadowRefused] = [0, 1, 2].map((place) => column(series, place, last));
  return { admitted: admitted!, refused: refused!, shadowRefused: shadowRefused! };
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
