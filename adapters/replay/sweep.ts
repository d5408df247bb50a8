/*
 * How low may a limit be?
 *
 * A client that a limit never refuses is never refused by a higher one either: all of its requests
 * were admitted, and would be again. So each client has a smallest limit that leaves it alone, and
 * the share of clients that are hit falls as the limit rises. A first pass, for all algorithms, goes
 * over all limits that make a difference, evenly spread on a logarithmic axis; a second one draws
 * the curve where it falls. Then the smallest limit for each share is closed in on, a few limits to
 * a pass, until it is exact.
 */

import { checkChoice, checkInteger, checkOptions, errorMessage } from "../../core/toolkit.ts";
import type { Algorithm } from "../../mod.ts";
import { decideLog } from "./decide_log.ts";
import { type LogReader, logReader, type LogSource } from "./log/log_entry.ts";

/** An algorithm whose limit is to be found. */
export interface SweepFamily {
  /** What reports call it. */
  readonly name: string;
  /** The algorithm with a limit. */
  readonly make: (limit: number) => Algorithm;
}

/** The options of `sweep`. */
export interface SweepOptions {
  /** Points of the curve, 2 to 64; default 24. */
  readonly points?: number | undefined;
  /** Shares that may be hit, 0 to 1; default 0, 0.001 and 0.01. */
  readonly shares?: readonly number[] | undefined;
  /** Shares of what: `"clients"` (default), or `"requests"`, for logs that name no clients. */
  readonly of?: "clients" | "requests" | undefined;
  /** The most clients to tell apart; default 100,000. */
  readonly maxClients?: number | undefined;
}

/** One limit, and whom it would have hit. */
export interface SweepPoint {
  /** The limit. */
  readonly limit: number;
  /** Share of requests refused, 0 to 1. */
  readonly denied: number;
  /** Share of clients refused at least once, 0 to 1. */
  readonly clientsHit: number;
}

/** What the sweep found of one algorithm. */
export interface SweepReport {
  /** The family's name. */
  readonly name: string;
  /** The curve where it falls, by rising limit. */
  readonly points: readonly SweepPoint[];
  /**
   * For each share, the smallest limit found that hits no larger one; `Infinity` if none up to the
   * units of the busiest client does, as with a fixed burst.
   */
  readonly smallest: readonly { readonly share: number; readonly limit: number }[];
}

/** How many limits between two bounds are tried in one pass. */
const LIMITS_A_PASS = 15;

/**
 * Finds how low the limits of some algorithms may be before they hit anybody.
 *
 * It reads the log some 5 to 10 times. Memory is bounded.
 *
 * @param source The log.
 * @param families The algorithms, at least one and at most 16.
 * @param options As above.
 * @throws {TypeError} If an argument is of the wrong type, or the log can be read only once.
 * @throws {RangeError} If an option is out of range, or the log holds no request.
 *
 * @example
 * ```ts
 * import { fixedWindow, slidingLog } from "tidegate";
 * import { sweep } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const log = [58, 59, 60, 61].map((second) => ({ at: second * 1_000, key: "a", cost: 1 }));
 * const [fixed, sliding] = await sweep(log, [
 *   { name: "fixed", make: (limit) => fixedWindow({ limit, period: "1m" }) },
 *   { name: "sliding", make: (limit) => slidingLog({ limit, period: "1m" }) },
 * ], { shares: [0] });
 * assert.deepEqual([fixed?.smallest, sliding?.smallest], [
 *   [{ share: 0, limit: 2 }],
 *   [{ share: 0, limit: 4 }],
 * ]);
 * ```
 */
export async function sweep(
  source: LogSource,
  families: readonly SweepFamily[],
  options: SweepOptions = {},
): Promise<readonly SweepReport[]> {
  const { points, shares, of, maxClients } = readOptions(families, options);
  const read = logReader("sweep a limit", source);
  const ceiling = await largestUse(read, maxClients);
  const known = families.map(() => new Map<number, SweepPoint>());
  const trials = { read, maxClients, families, known };

  const everywhere = new Set(spread(1, ceiling, points));
  await tryLimits(trials, () => everywhere);
  const { from, to } = slope(known, ceiling);
  const closer = new Set(spread(from, to, points));
  await tryLimits(trials, () => closer);
  const curves = known.map((tried) => curveOf(tried, from, to));
  const unsure = (place: number) =>
    new Set(shares.flatMap((allowed) => between(bracket(known[place]!, of, allowed))));
  while (await tryLimits(trials, unsure));

  return families.map(({ name }, place) => ({
    name,
    points: curves[place]!,
    smallest: shares.map((allowed) => ({
      share: allowed,
      limit: bracket(known[place]!, of, allowed).enough,
    })),
  }));
}

/** What was tried so far: of each family, the limits and whom they hit. */
interface Trials {
  readonly read: LogReader;
  readonly maxClients: number;
  readonly families: readonly SweepFamily[];
  readonly known: readonly Map<number, SweepPoint>[];
}

/**
 * Tries the limits of each family that are not known yet, all of them in one pass.
 *
 * @returns Whether there were any.
 */
async function tryLimits(
  { read, maxClients, families, known }: Trials,
  limitsOf: (place: number) => ReadonlySet<number>,
): Promise<boolean> {
  const trials = families.flatMap((family, place) =>
    [...limitsOf(place)]
      .filter((limit) => !known[place]!.has(limit))
      .map((limit) => ({ place, limit, name: "", algorithm: family.make(limit), denied: 0 }))
  );
  if (trials.length === 0) return false;
  const pass = await decideLog(read, trials, maxClients, (_entry, trial, { allowed }) => {
    if (!allowed) trials[trial]!.denied++;
  });
  const hit = trials.map(() => 0);
  for (const { tallies } of pass.clients.values()) {
    tallies.forEach(({ denied }, trial) => denied > 0 && hit[trial]!++);
  }
  trials.forEach(({ place, limit, denied }, trial) => {
    known[place]!.set(limit, {
      limit,
      denied: denied / pass.requests,
      clientsHit: hit[trial]! / pass.clients.size,
    });
  });
  return true;
}

/** The points between two limits, by rising limit. */
function curveOf(
  tried: ReadonlyMap<number, SweepPoint>,
  from: number,
  to: number,
): readonly SweepPoint[] {
  return [...tried.values()]
    .filter(({ limit }) => limit >= from && limit <= to)
    .sort((a, b) => a.limit - b.limit);
}

function readOptions(families: readonly SweepFamily[], options: SweepOptions) {
  const action = "sweep a limit";
  checkOptions<SweepOptions>(action, options, {
    points: true,
    shares: true,
    of: true,
    maxClients: true,
  });
  if (!Array.isArray(families) || families.length === 0 || families.length > 16) {
    throw new TypeError(errorMessage(action, "it needs 1 to 16 algorithms", families));
  }
  const { points = 24, shares = [0, 0.001, 0.01], of = "clients", maxClients = 100_000 } = options;
  checkChoice(action, "of", of, ["clients", "requests"]);
  checkInteger(action, "points", points, 2, 64);
  checkInteger(action, "maxClients", maxClients, 1);
  for (const allowed of shares) {
    if (!(allowed >= 0 && allowed <= 1)) {
      throw new RangeError(errorMessage(action, "shares must be from 0 to 1", allowed));
    }
  }
  return { points, shares, of, maxClients };
}

/** The units of the busiest client: a limit of as many refuses nobody. */
async function largestUse(read: LogReader, maxClients: number): Promise<number> {
  const used = new Map<string, number>();
  let most = 1;
  await read(({ key, cost }) => {
    const before = used.get(key);
    if (before === undefined && used.size === maxClients) return;
    const units = (before ?? 0) + cost;
    used.set(key, units);
    most = Math.max(most, units);
  });
  return most;
}

/** Whole limits between two, those included, evenly spread on a logarithmic axis. */
function spread(from: number, to: number, points: number): readonly number[] {
  const limits = Array.from(
    { length: points },
    (_, place) => Math.round(from * (to / from) ** (place / (points - 1))),
  );
  return [...new Set(limits)];
}

/** From the last limit that refuses nearly everything to the first that refuses nothing. */
function slope(
  known: readonly ReadonlyMap<number, SweepPoint>[],
  ceiling: number,
): { readonly from: number; readonly to: number } {
  const limits = [...known[0]!.keys()];
  const isAll = (limit: number) => known.every((tried) => tried.get(limit)!.denied > 0.9);
  const isNone = (limit: number) => known.every((tried) => tried.get(limit)!.denied === 0);
  return {
    from: Math.max(1, ...limits.filter(isAll)),
    to: Math.min(ceiling, ...limits.filter(isNone)),
  };
}

/** The largest limit known to hit too many, and the smallest known not to. */
function bracket(
  tried: ReadonlyMap<number, SweepPoint>,
  of: "clients" | "requests",
  allowed: number,
): { readonly tooLow: number; readonly enough: number } {
  let tooLow = 0;
  let enough = Infinity;
  for (const { limit, clientsHit, denied } of tried.values()) {
    if ((of === "clients" ? clientsHit : denied) > allowed) tooLow = Math.max(tooLow, limit);
    else enough = Math.min(enough, limit);
  }
  return { tooLow, enough };
}

/** Limits to try between the two; none if they are neighbours. */
function between(
  { tooLow, enough }: { readonly tooLow: number; readonly enough: number },
): readonly number[] {
  const gap = enough - tooLow;
  if (gap <= 1 || gap === Infinity) return [];
  const parts = Math.min(gap, LIMITS_A_PASS + 1);
  return Array.from(
    { length: parts - 1 },
    (_, place) => tooLow + Math.round(gap * (place + 1) / parts),
  );
}
