/*
 * The open receipts of a key, which are numbered in the order of their calls. Neighbours that are
 * alike form a run of numbers:
 *
 *   from, to    the first receipt, and the one after the last
 *   until       when the last of them ends
 *   lags        for each rate of the algorithm, the lag of their calls (`core/arithmetic/returns.ts`)
 *
 * A number in no run is closed, so a key remembers nothing of receipts that were settled. Lags never
 * fall from one receipt to the next, because every call that followed the later one followed the
 * earlier one, too. So a call lowers the lags of the last few runs only.
 *
 * When the call of a receipt turns out to have cost d less, the arrival time T moves by m = min(d,
 * lag). Then
 *
 *   a later receipt     keeps its distance to calls after it: its lag falls by m
 *   an earlier receipt  would see the calls after it end d earlier, but no earlier than calls after the
 *                       settled one: its lag becomes min(lag + d, lag of the settled one) - m
 */

import { NO_CALL_SINCE } from "../arithmetic/returns.ts";

/** Runs of open receipts, one after the other, as flat numbers. */
export type OpenReceipts = readonly number[];

/** The most runs of open receipts that a key keeps. */
export const MOST_RUNS = 256;

/** The numbers of a run before its lags. */
export const HEAD = 3;

/** How many numbers a run has. */
export function widthOf(lags: number): number {
  return HEAD + lags;
}

/** When the last of these receipts ends. */
export function endOf(open: OpenReceipts, width: number): number {
  return open[open.length - width + 2]!;
}

/** The index of the run that holds a receipt; -1 if the receipt is closed. */
export function runOf(open: OpenReceipts, width: number, number: number): number {
  for (let at = open.length - width; at >= 0; at -= width) {
    if (number >= open[at]!) return number < open[at + 1]! ? at : -1;
  }
  return -1;
}

/** A list of one receipt, the first, to be copied for each key; when it ends is left open. */
export function firstReceipt(width: number): OpenReceipts {
  return [0, 1, ...Array.from({ length: width - 2 }, () => NO_CALL_SINCE)];
}

/**
 * The receipts after a call that found so much use of one rate.
 *
 * @param lag The index of that rate's lag.
 */
export function afterUse(
  open: OpenReceipts,
  width: number,
  lag: number,
  use: number,
): OpenReceipts {
  let at = open.length - width;
  if (!(open[at + HEAD + lag]! > use)) return open;
  const next = open.slice();
  for (; at >= 0 && next[at + HEAD + lag]! > use; at -= width) {
    next[at + HEAD + lag] = use;
    joinNext(next, width, at);
  }
  // Its lag may have been as low before.
  joinNext(next, width, at);
  return next;
}

/** The receipts with one more, whose call has just been made; those that have ended are left out. */
export function withReceipt(
  open: OpenReceipts,
  width: number,
  number: number,
  until: number,
  now: number,
): OpenReceipts {
  let over = 0;
  while (over < open.length && open[over + 2]! <= now) over += width;
  const next = open.slice(over);
  const end = next.length === 0 ? until : Math.max(until, endOf(next, width));
  next.push(number, number + 1, end);
  for (let lag = HEAD; lag < width; lag++) next.push(NO_CALL_SINCE);
  joinNext(next, width, next.length - 2 * width);
  return bounded(next, width);
}

/**
 * The receipts without a settled one.
 *
 * @param at The index of its run.
 * @param wanted For each lag, the ticks that its call cost less.
 * @param moved For each lag, the ticks by which the arrival time was moved.
 */
export function withoutReceipt(
  open: OpenReceipts,
  width: number,
  at: number,
  number: number,
  wanted: readonly number[],
  moved: readonly number[],
): OpenReceipts {
  const next: number[] = [];

  function push(run: number, from: number, to: number, isEarlier: boolean): void {
    if (from === to) return;
    next.push(from, to, open[run + 2]!);
    for (let lag = HEAD; lag < width; lag++) {
      const [own, settled] = [open[run + lag]!, open[at + lag]!];
      const [less, by] = [wanted[lag - HEAD] ?? 0, moved[lag - HEAD] ?? 0];
      // Infinity would not survive a codec, so the lag of a newest call is left as it is.
      const most = own === NO_CALL_SINCE || !isEarlier ? own : Math.min(own + less, settled);
      next.push(own === NO_CALL_SINCE ? own : most - by);
    }
    joinNext(next, width, next.length - 2 * width);
  }

  for (let run = 0; run < at; run += width) push(run, open[run]!, open[run + 1]!, true);
  push(at, open[at]!, number, true);
  push(at, number + 1, open[at + 1]!, false);
  for (let run = at + width; run < open.length; run += width) {
    push(run, open[run]!, open[run + 1]!, false);
  }
  return bounded(next, width);
}

/** The receipts whose lags are converted to the ticks of other units; rounded down to whole units. */
export function withTicks(
  open: OpenReceipts,
  width: number,
  before: readonly number[],
  after: readonly number[],
): OpenReceipts {
  return open.map((number, at) => {
    const lag = at % width - HEAD;
    if (lag < 0 || number === NO_CALL_SINCE) return number;
    return Math.floor(number / before[lag]!) * after[lag]!;
  });
}

/** Joins a run with the next one if they are neighbours with the same lags. */
function joinNext(open: number[], width: number, at: number): void {
  if (at < 0 || open[at + 1] !== open[at + width]) return;
  for (let lag = at + HEAD; lag < at + width; lag++) {
    if (open[lag] !== open[lag + width]) return;
  }
  joinRun(open, width, at);
}

/** Makes a run and the next one a single run, with the lags of the earlier one. */
function joinRun(open: number[], width: number, at: number): void {
  open[at + 1] = open[at + width + 1]!;
  open[at + 2] = open[at + width + 2]!;
  open.splice(at + width, width);
}

/**
 * The receipts in no more runs than a key keeps. Neighbours whose lags are nearly the same become one
 * run with the lower ones: the later receipts then give back a little less. Without neighbours, the
 * oldest receipts close.
 */
function bounded(open: number[], width: number): OpenReceipts {
  while (open.length > MOST_RUNS * width) {
    const nearest = nearestNeighbours(open, width);
    if (nearest === -1) open.splice(0, width);
    else joinRun(open, width, nearest);
  }
  return open;
}

/** The first of two neighbours whose lags differ least; -1 without neighbours. */
function nearestNeighbours(open: OpenReceipts, width: number): number {
  let nearest = -1;
  let least = Infinity;
  for (let at = 0; at + width < open.length; at += width) {
    if (open[at + 1] !== open[at + width]) continue;
    let apart = 0;
    for (let lag = at + HEAD; lag < at + width; lag++) apart += open[lag + width]! - open[lag]!;
    if (apart < least) [nearest, least] = [at, apart];
  }
  return nearest;
}
