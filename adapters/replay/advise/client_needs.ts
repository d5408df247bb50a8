/*
 * The needs of clients: how much of a limit each one would have used, in several spans of time, and
 * whether it came at a steady pace. These are facts about the traffic. No limit is chosen here.
 */

import { type ClientRequests, eachClient, type Trace } from "../log/trace.ts";

const MINUTE = 60_000;

/** The spans in which requests are counted, in milliseconds. */
export const SPANS: readonly number[] = [1 / 6, 1 / 2, 1, 3, 10, 30, 60].map((m) => m * MINUTE);

/** How many requests show a steady pace, by span: people make fewer, or make them in groups. */
const STEADY: ReadonlyMap<number, number> = new Map([
  ...[[1 / 6, 70], [1 / 2, 90], [1, 120], [3, 180], [10, 300], [30, 450], [60, 600]] as const,
].map(([minutes, least]) => [minutes * MINUTE, least]));

/** The needs of all clients. */
export interface ClientNeeds {
  /** The spans that were counted: those that the log is long enough for, at least the first. */
  readonly spans: readonly number[];
  /** For each span, the most units of each client in any such span. */
  readonly most: readonly Float64Array[];
  /** All units of each client. */
  readonly units: Float64Array;
  /**
   * Whether each client kept up a steady pace for ten seconds or more, which no person does: 1,
   * else 0.
   */
  readonly steady: Uint8Array;
  /** Whether each client came at equal distances from beginning to end: 1, else 0. */
  readonly regular: Uint8Array;
}

/**
 * Counts the needs of the clients of a trace.
 *
 * @param grain How exact times are, in milliseconds: requests that seem to lie a span apart may have
 * been closer by as much.
 */
export function clientNeeds(trace: Trace, grain: number): ClientNeeds {
  const { clients, start, end } = trace;
  const spans = SPANS.filter((span, index) => index === 0 || span <= end - start);
  const most = spans.map(() => new Float64Array(clients.length));
  const units = new Float64Array(clients.length);
  const steady = new Uint8Array(clients.length);
  const regular = new Uint8Array(clients.length);
  eachClient(trace, (client, requests) => {
    const { at, cost } = requests;
    if (at.length === 0) return;
    const total = cost === undefined ? at.length : cost.reduce((sum, units) => sum + units, 0);
    const lasts = at.at(-1)! - at[0]!;
    units[client] = total;
    spans.forEach((span, index) => {
      most[index]![client] = lasts < span + grain ? total : mostWithin(requests, span + grain);
      if (steady[client] === 0 && isSteady(at, span)) steady[client] = 1;
    });
    if (lasts >= 0.8 * (end - start) && isRegular(at, grain)) regular[client] = 1;
  });
  return { spans, most, units, steady, regular };
}

/** The most units in any span of so many milliseconds, its end excluded. */
function mostWithin({ at, cost }: ClientRequests, span: number): number {
  if (cost === undefined) return busiest(at, span).count;
  let most = 0;
  let sum = 0;
  for (let last = 0, first = 0; last < at.length; last++) {
    sum += cost[last]!;
    while (at[last]! - at[first]! >= span) sum -= cost[first++]!;
    if (sum > most) most = sum;
  }
  return most;
}

/** The most requests in any span, and the first of them: a window that grows but never shrinks. */
function busiest(
  at: Float64Array,
  span: number,
): { readonly count: number; readonly from: number } {
  let first = 0;
  let from = 0;
  for (let last = 0; last < at.length; last++) {
    if (at[last]! - at[first]! >= span) first++;
    else from = first;
  }
  return { count: at.length - first, from };
}

/**
 * Whether a client's busiest span has no pauses and no bursts, like that of a program: at most one
 * of its thirty parts is empty, and their counts vary at most twice as much as counts of
 * independent requests.
 */
function isSteady(at: Float64Array, span: number): boolean {
  const least = STEADY.get(span);
  if (least === undefined || at.length < least) return false;
  const { count, from } = busiest(at, span);
  if (count < least) return false;
  // Parts of a second at least: times may be no more exact.
  const size = Math.min(30, span / 1_000);
  const parts = new Float64Array(size);
  for (let row = from; row < from + count; row++) {
    parts[Math.min(size - 1, Math.floor((at[row]! - at[from]!) / span * size))]!++;
  }
  const mean = count / size;
  let empty = 0;
  let squares = 0;
  for (const part of parts) {
    if (part === 0) empty++;
    squares += (part - mean) ** 2;
  }
  return empty <= 1 && squares / (size - 1) < 2 * mean;
}

/** Whether nine of ten requests come at one distance, which is longer than times are inexact. */
function isRegular(at: Float64Array, grain: number): boolean {
  const distance = (at.at(-1)! - at[0]!) / (at.length - 1);
  if (at.length < 20 || distance < Math.max(2_000, 4 * grain)) return false;
  let regular = 0;
  for (let row = 1; row < at.length; row++) {
    if (Math.abs(at[row]! - at[row - 1]! - distance) <= 0.2 * distance + grain) regular++;
  }
  return regular >= 0.9 * (at.length - 1);
}

/**
 * How full a bucket becomes that drains at a rate: the burst that admits all of these requests.
 *
 * @param rate Units a millisecond.
 */
export function fullest({ at, cost }: ClientRequests, rate: number): number {
  let level = 0;
  let most = 0;
  let before = at[0] ?? 0;
  for (let row = 0; row < at.length; row++) {
    const now = at[row]!;
    level -= (now - before) * rate;
    if (level < 0) level = 0;
    level += cost === undefined ? 1 : cost[row]!;
    if (level > most) most = level;
    before = now;
  }
  return most;
}
