/*
 * Chooses limits that admit ordinary clients with room to spare, and refuse as many of the others as
 * possible.
 *
 * `gcra` never refuses a client that needs no larger burst at its rate. The burst that all ordinary
 * clients need falls as the rate rises, so several rates are tried for each period. The one with the
 * smallest sum of limit and burst wins, because that sum is what a client can get within one period.
 */

import { type Algorithm, all, gcra } from "../../../mod.ts";
import { clientDecider } from "../decide_client.ts";
import { type ClientRequests, eachClient, type Trace } from "../log/trace.ts";
import { type ClientNeeds, fullest } from "./client_needs.ts";

/** A limit as `gcra` takes it. */
export interface AdvisedLimit {
  /** Units per period. */
  readonly limit: number;
  /** Milliseconds. */
  readonly period: number;
  /** Units at once. */
  readonly burst: number;
}

/** The periods that people use, the most usual first. */
export const PERIODS: readonly number[] = [60_000, 600_000, 10_000, 3_600_000];

/** The needs of ordinary clients at one rate. */
export interface Shape {
  readonly period: number;
  /** Units a millisecond. */
  readonly rate: number;
  /** Units at once. */
  readonly burst: number;
}

/** Which parts of the busiest client's rate are tried. */
const RATES: readonly number[] = Array.from({ length: 14 }, (_, index) => 0.8 ** index);

/** More than the rounding error of a bucket's level. */
const ROUNDING = 1e-6;

/** Which clients a limit must admit. */
export interface Admitted {
  readonly ordinary: Uint8Array;
  /** How many of them it may refuse. */
  readonly refused: number;
  /** The need that every client is granted. */
  readonly least: number;
}

/** The needs of ordinary clients in some periods, at all rates. */
export function shapesOf(
  trace: Trace,
  needs: ClientNeeds,
  admitted: Admitted,
  grain: number,
  periods: readonly number[] = PERIODS,
): readonly (readonly Shape[])[] {
  const { ordinary, refused, least } = admitted;
  const shapes = periods.filter((period) => needs.spans.includes(period)).map((period) => {
    const own = needs.most[needs.spans.indexOf(period)]!;
    const most = nth(own.map((need, client) => ordinary[client] === 1 ? need : 0), refused);
    return RATES.map((part) => {
      const rate = part * Math.max(least, 1, most) / period;
      // The largest bursts, in rising order: those of the clients that may be refused behind the first.
      return { period, rate, top: new Float64Array(refused + 1) };
    });
  });
  const rising = shapes.flat().sort((one, other) => one.rate - other.rate);
  eachClient(trace, (_client, requests) => {
    // At a higher rate a client needs no larger burst than at a lower one.
    let burst = Infinity;
    for (const { rate, top } of rising) {
      if (burst <= top[0]!) continue;
      burst = fullest(requests, rate);
      if (burst <= top[0]!) continue;
      top[0] = burst;
      if (refused > 0) top.sort();
    }
  }, ordinary);
  return shapes.map((own) =>
    own.map(({ period, rate, top }) => (
      { period, rate, burst: Math.max(least, top[0]!) + rate * grain }
    ))
  );
}

/** The largest value but so many; 0 if there are not as many. */
function nth(values: Float64Array, skipped: number): number {
  if (skipped > 0) return values.toSorted().at(-1 - skipped) ?? 0;
  // A loop, because a function called for each value takes several times as long.
  let most = 0;
  for (let index = 0; index < values.length; index++) most = Math.max(most, values[index]!);
  return most;
}

/** How much room a limit leaves, and how its numbers are rounded. */
export interface Room {
  readonly headroom: number;
  readonly round: (value: number) => number;
}

/** Rooms to choose from: as much as wanted, or less where that refuses more attackers. */
export function roomsUpTo(headroom: number): readonly Room[] {
  return [
    { headroom, round: roundUp },
    ...[headroom, 1.75, 1.5].filter((room) => room <= headroom)
      .map((room) => ({ headroom: room, round: roundUpFinely })),
    ...[1.5, 1.4].filter((room) => room <= headroom)
      .map((room) => ({ headroom: room, round: Math.ceil })),
  ];
}

/**
 * Limits, the room that they leave, and the clients that they refuse among those that were set
 * aside.
 */
export interface Choice {
  readonly limits: readonly AdvisedLimit[];
  readonly headroom: number;
  readonly refused: ReadonlySet<number>;
}

/**
 * The limits of one period, or of two where a second one refuses more of those set aside.
 *
 * @param apart The requests of the clients that were set aside.
 */
export function chooseLimits(
  shapes: readonly (readonly Shape[])[],
  rooms: readonly Room[],
  apart: ReadonlyMap<number, ClientRequests>,
): Choice {
  const refused = refusedByOne(apart);
  const every = shapes.flatMap((own) => own.map((shape) => [shape]));
  let best: Choice | undefined;
  for (const room of rooms) {
    // Other rates are tried only where those with the smallest sum let somebody through.
    for (const tried of [shapes, [...shapes, ...every]]) {
      const choice = chooseAmong(tried, room, refused);
      if (best === undefined || choice.refused.size > best.refused.size) best = choice;
      if (best.refused.size === apart.size) return best;
    }
  }
  return best!;
}

function chooseAmong(
  shapes: readonly (readonly Shape[])[],
  { headroom, round }: Room,
  refusedBy: (limit: AdvisedLimit) => ReadonlySet<number>,
): Choice {
  const options = shapes.map((own) => {
    const limit = limitOf(own, headroom, round);
    return { limit, refused: refusedBy(limit) };
  });
  const first = bestOf(options, new Set());
  const second = bestOf(options, first.refused);
  const both = [first, second].filter(({ refused }, index) =>
    index === 0 || [...refused].some((client) => !first.refused.has(client))
  );
  return {
    limits: both.map(({ limit }) => limit),
    headroom,
    refused: new Set(both.flatMap(({ refused }) => [...refused])),
  };
}

/**
 * Makes the function that finds the clients that a limit refuses. Hundreds of limits are tried on the
 * same clients, so the bursts that a client needs are remembered: at a higher rate it needs no more
 * than at a lower one.
 */
function refusedByOne(
  requests: ReadonlyMap<number, ClientRequests>,
): (limit: AdvisedLimit) => ReadonlySet<number> {
  const tests = [...requests].map(([client, own]) => ({ client, isRefused: refusalTest(own) }));
  return (limit) =>
    new Set(tests.flatMap(({ client, isRefused }) => isRefused(limit) ? [client] : []));
}

function refusalTest(own: ClientRequests): (limit: AdvisedLimit) => boolean {
  const known: { readonly rate: number; readonly needed: number }[] = [];
  return (limit) => {
    const rate = limit.limit / limit.period;
    if (known.some((one) => one.rate >= rate && one.needed > limit.burst + ROUNDING)) return true;
    if (known.some((one) => one.rate <= rate && one.needed < limit.burst - ROUNDING)) return false;
    const needed = fullest(own, rate);
    known.push({ rate, needed });
    // Only the algorithm itself decides where the sums of floats come too close.
    if (Math.abs(needed - limit.burst) > ROUNDING) return needed > limit.burst;
    return refusedBy([limit], new Map([[0, own]])).size > 0;
  };
}

/** The option that refuses most of the clients not refused yet; the first of equal options. */
function bestOf<Option extends { readonly refused: ReadonlySet<number> }>(
  options: readonly Option[],
  before: ReadonlySet<number>,
): Option {
  const more = ({ refused }: Option) => [...refused].filter((client) => !before.has(client)).length;
  return options.reduce((best, each) => more(each) > more(best) ? each : best);
}

/** The limit of one period that lets the least through. */
export function limitOf(
  shapes: readonly Shape[],
  headroom: number,
  round: Room["round"],
): AdvisedLimit {
  const limits = shapes.map(({ period, rate, burst }) => ({
    limit: round(headroom * rate * period),
    period,
    burst: round(headroom * burst),
  }));
  return limits.reduce((best, each) =>
    each.limit + each.burst < best.limit + best.burst ? each : best
  );
}

/** The clients that limits refuse at least once. */
export function refusedBy(
  limits: readonly AdvisedLimit[],
  requests: ReadonlyMap<number, ClientRequests>,
): ReadonlySet<number> {
  const { refusals } = clientDecider(algorithmOf(limits));
  return new Set([...requests].flatMap(([client, own]) => refusals(own, 1) > 0 ? [client] : []));
}

/** The algorithm of one limit or of several. */
export function algorithmOf(limits: readonly AdvisedLimit[]): Algorithm {
  const algorithms = limits.map((limit) => gcra(limit));
  return algorithms.length === 1 ? algorithms[0]! : all(...algorithms);
}

/** The next number up that people like to write. */
function roundUp(value: number): number {
  return roundedUp(value, [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]);
}

/** The next number up of two digits. */
export function roundUpFinely(value: number): number {
  return roundedUp(value, Array.from({ length: 91 }, (_, index) => 1 + index / 10));
}

function roundedUp(value: number, steps: readonly number[]): number {
  // The rounding error of a sum of floats does not count.
  const least = value * (1 - 1e-9);
  if (least <= 10) return Math.max(1, Math.ceil(least));
  const power = 10 ** Math.floor(Math.log10(least));
  return Math.round((steps.find((step) => step * power >= least) ?? 10) * power);
}
