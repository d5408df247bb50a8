/*
 * How low may a limit be?
 *
 * A client that a limit never refuses is never refused by a higher one either: all of its requests
 * were admitted, and would be again. So each client has a smallest limit that leaves it alone.
 * These limits are found client by client. They tell which clients any other limit hits, and at
 * which limits a client's requests need not be decided at all.
 */

import {
  checkChoice,
  checkOptions,
  errorMessage,
  integerFrom,
} from "../../core/application_support.ts";
import type { Algorithm } from "../../mod.ts";
import { type ClientDecider, clientDecider } from "./decide_client.ts";
import {
  type ClientRequests,
  eachClient,
  type LogSource,
  type Trace,
  traceOf,
} from "./log/trace.ts";

/** An algorithm whose limit is to be found. */
export interface SweepFamily {
  /** The family's name in reports. */
  readonly name: string;
  /** The algorithm with a limit, or with a burst if that is to be found. */
  readonly make: (limit: number) => Algorithm;
  /** The meaning of the number that `make` takes; default `"limit"`. */
  readonly finds?: "limit" | "burst" | undefined;
}

/** The options of `sweep`. */
export interface SweepOptions {
  /** Points of the curve, 2 to 64; default 24. */
  readonly points?: number | undefined;
  /** Shares that may be hit, 0 to 1; default 0, 0.001 and 0.01. */
  readonly shares?: readonly number[] | undefined;
  /** Shares of what: `"clients"` (default), or `"requests"`, for logs that name no clients. */
  readonly of?: "clients" | "requests" | undefined;
  /** The most clients to distinguish; default 100,000. */
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

/** The result of a sweep for one algorithm. */
export interface SweepReport {
  /** The family's name. */
  readonly name: string;
  /** The meaning of the numbers found: limits, or bursts. */
  readonly finds: "limit" | "burst";
  /** The curve where it falls, by rising limit. */
  readonly points: readonly SweepPoint[];
  /**
   * For each share, the smallest limit found that hits at most that share; `Infinity` if no limit
   * up to the units of the busiest client does, which happens with a fixed burst.
   */
  readonly smallest: readonly { readonly share: number; readonly limit: number }[];
}

/**
 * Finds how low the limits of some algorithms may be before they hit anybody.
 *
 * The log is read once.
 *
 * @param source The log: a trace, entries, or a function that opens them.
 * @param families The algorithms, at least one and at most 16.
 * @param options As above.
 * @throws {TypeError} If an argument is of the wrong type.
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
  const trace = await traceOf("sweep a limit", source, maxClients);
  const ceiling = largestUse(trace);
  const swept = families.map(({ make }): SweptFamily => ({
    deciderOf: decidersOf(make),
    smallest: new Float64Array(trace.clients.length),
    known: new Map(),
  }));
  eachClient(trace, (client, requests) => {
    for (const { deciderOf, smallest } of swept) {
      smallest[client] = smallestLimit(deciderOf, 1, ceiling, requests);
    }
  });
  tryLimits(trace, swept, spread(1, ceiling, points));
  const { from, to } = slope(swept.map(({ known }) => known), ceiling);
  tryLimits(trace, swept, spread(from, to, points));
  return swept.map((family, index) => ({
    name: families[index]!.name,
    finds: families[index]!.finds ?? "limit",
    points: [...family.known.values()]
      .filter(({ limit }) => limit >= from && limit <= to)
      .sort((a, b) => a.limit - b.limit),
    smallest: shares.map((share) => ({
      share,
      limit: of === "clients"
        ? limitForClients(family, share)
        : limitForRequests(trace, family, share),
    })),
  }));
}

/** The facts known of a family. */
interface SweptFamily {
  readonly deciderOf: DeciderOf;
  /** For each client, the smallest limit that never refuses it. */
  readonly smallest: Float64Array;
  /** The limits that were tried on all requests. */
  readonly known: Map<number, SweepPoint>;
}

/** The decider of a family with a limit. */
export type DeciderOf = (limit: number) => ClientDecider;

/** The deciders of a family; low limits, which most clients need, are kept. */
export function decidersOf(make: SweepFamily["make"]): DeciderOf {
  const made = new Map<number, ClientDecider>();
  return (limit) => {
    let decider = made.get(limit);
    if (decider === undefined) {
      decider = clientDecider(make(limit));
      if (limit <= 4_096) made.set(limit, decider);
    }
    return decider;
  };
}

/** The smallest limit from `least` to `most` that never refuses a client; `Infinity` if none. */
export function smallestLimit(
  deciderOf: DeciderOf,
  least: number,
  most: number,
  requests: ClientRequests,
): number {
  const refuses = (limit: number) => deciderOf(limit).refusals(requests, 1) > 0;
  if (!refuses(least)) return least;
  let tooLow = least;
  let enough = Math.min(2 * least, most);
  while (enough > tooLow && refuses(enough)) {
    tooLow = enough;
    enough = Math.min(2 * tooLow, most);
  }
  if (enough === tooLow) return Infinity;
  return firstEnough(tooLow, enough, refuses);
}

/** The smallest limit that is not too low, between one that is too low and one that is enough. */
function firstEnough(tooLow: number, enough: number, isTooLow: (limit: number) => boolean): number {
  while (enough - tooLow > 1) {
    const middle = tooLow + Math.floor((enough - tooLow) / 2);
    if (isTooLow(middle)) tooLow = middle;
    else enough = middle;
  }
  return enough;
}

/** Tries limits on the requests of all clients that they hit. */
function tryLimits(
  trace: Trace,
  families: readonly SweptFamily[],
  limits: readonly number[],
): void {
  const trials = families.flatMap(({ known, deciderOf, smallest }) =>
    limits.filter((limit) => !known.has(limit)).map((limit) => ({
      ...{ known, smallest, limit, decider: deciderOf(limit), denied: 0, hit: 0 },
    }))
  );
  eachClient(trace, (client, requests) => {
    for (const trial of trials) {
      if (trial.smallest[client]! <= trial.limit) continue;
      trial.denied += trial.decider.refusals(requests, Infinity);
      trial.hit++;
    }
  });
  for (const { known, limit, denied, hit } of trials) {
    known.set(limit, {
      limit,
      denied: denied / trace.requests,
      clientsHit: hit / trace.clients.length,
    });
  }
}

/** The smallest limit that hits at most a share of the clients. */
function limitForClients({ smallest }: SweptFamily, share: number): number {
  const sorted = smallest.toSorted();
  let hit = 0;
  while (hit < sorted.length && (hit + 1) / sorted.length <= share) hit++;
  return sorted.at(-1 - hit) ?? 1;
}

/** The smallest limit that refuses at most a share of the requests. */
function limitForRequests(trace: Trace, family: SweptFamily, share: number): number {
  const { known } = family;
  let tooLow = 0;
  let enough = Infinity;
  for (const { limit, denied } of known.values()) {
    if (denied > share) tooLow = Math.max(tooLow, limit);
    else enough = Math.min(enough, limit);
  }
  if (enough === Infinity) return enough;
  return firstEnough(tooLow, enough, (limit) => {
    tryLimits(trace, [family], [limit]);
    return known.get(limit)!.denied > share;
  });
}

function readOptions(families: readonly SweepFamily[], options: SweepOptions) {
  const action = "sweep a limit";
  checkOptions<SweepOptions>(action, options, {
    points: integerFrom(2, 64),
    shares: true,
    of: true,
    maxClients: integerFrom(1),
  });
  if (!Array.isArray(families) || families.length === 0 || families.length > 16) {
    throw new TypeError(errorMessage(action, "it needs 1 to 16 algorithms", families));
  }
  const { points = 24, shares = [0, 0.001, 0.01], of = "clients", maxClients = 100_000 } = options;
  checkChoice(action, "of", of, ["clients", "requests"]);
  for (const allowed of shares) {
    if (!(allowed >= 0 && allowed <= 1)) {
      throw new RangeError(errorMessage(action, "shares must be from 0 to 1", allowed));
    }
  }
  return { points, shares, of, maxClients };
}

/** The units of the busiest client: a limit of as many refuses nobody. */
export function largestUse({ counts, rows }: Trace): number {
  const units = Float64Array.from(counts);
  for (const { client, cost } of rows) {
    cost?.forEach((units_, row) => units[client[row]!]! += units_ - 1);
  }
  return units.reduce((most, used) => Math.max(most, used), 1);
}

/** Whole limits from one limit to another, both included, evenly spread on a logarithmic axis. */
function spread(from: number, to: number, points: number): readonly number[] {
  const limits = Array.from(
    { length: points },
    (_, index) => Math.round(from * (to / from) ** (index / (points - 1))),
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
