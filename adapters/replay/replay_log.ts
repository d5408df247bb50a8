/*
 * A replay is a fold: each entry of the log steps its client's state, once for each candidate.
 *
 * The log is read twice, and never held. The first pass decides and counts; it finds which clients
 * are worth showing. The second one decides again, as a reducer answers the same again, and draws
 * the timelines of those. Memory is bounded by the number of clients and the number of bins.
 */

import { checkInteger, checkOptions } from "../../core/toolkit.ts";
import type { Decision } from "../../mod.ts";
import { type Candidate, readCandidates } from "./candidate.ts";
import { type Client, decideLog } from "./decide_log.ts";
import { type LogEntry, type LogReader, logReader, type LogSource } from "./log/log_entry.ts";
import type { CandidateReport, ClientReport, ReplayReport } from "./replay_report.ts";
import { type BinGatherer, gatherBins } from "./time_bins.ts";

/** The options of `replay`. */
export interface ReplayOptions {
  /** The most clients to tell apart; a positive integer; default 100,000. */
  readonly maxClients?: number | undefined;
  /** How many clients to report on, for each candidate; default 10. */
  readonly topClients?: number | undefined;
  /** The most bins of a timeline; an even number; default 240. */
  readonly bins?: number | undefined;
}

/** What one candidate adds up over all clients. */
interface Total {
  denied: number;
  deniedUnits: number;
  delayed: number;
  delay: number;
  readonly timeline: BinGatherer;
}

/**
 * Replays a log against limits, to see what they would have done to that traffic.
 *
 * A log is what clients did when nothing held them back: it does not show whether those who are
 * refused come again. Its times are as exact as it was written, often to the second. Entries must
 * be in order of time, or nearly so: one that comes late is moved up to those before it.
 *
 * Memory is bounded; time is proportional to entries times candidates.
 *
 * @param source The log; it is opened twice.
 * @param candidates The limits to try; at most 64.
 * @param options As above.
 * @throws {TypeError} If an argument is of the wrong type, or the log can be read only once.
 * @throws {RangeError} If an option is out of range, or the log holds no request.
 *
 * @example
 * ```ts
 * import { fixedWindow, slidingLog } from "tidegate";
 * import { replay } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * // Two requests at the end of a minute, two at the start of the next.
 * const log = [58, 59, 60, 61].map((second) => ({ at: second * 1_000, key: "a", cost: 1 }));
 * const { candidates } = await replay(log, [
 *   { algorithm: fixedWindow({ limit: 2, period: "1m" }) },
 *   { algorithm: slidingLog({ limit: 2, period: "1m" }) },
 * ]);
 * assert.deepEqual(candidates.map(({ denied }) => denied), [0, 2]);
 * ```
 */
export async function replay(
  source: LogSource,
  candidates: readonly Candidate[],
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  const { maxClients, topClients, bins } = readOptions(options);
  const named = readCandidates(candidates);
  const read = logReader("replay a log", source);
  const totals = named.map(() => noTotal(bins));
  const pass = await decideLog(read, named, maxClients, (entry, place, decision) => {
    addDecision(totals[place]!, entry, decision);
  });
  const shown = named.map((_, place) => worthShowing(pass.clients, place, topClients));
  const timelines = await timelinesOf(read, named, shown, { maxClients, bins });
  const { clients, ...sums } = pass;
  return {
    ...sums,
    clients: clients.size,
    candidates: named.map(({ name, algorithm }, place): CandidateReport => {
      const { timeline, ...total } = totals[place]!;
      return {
        name,
        id: algorithm.id,
        ...total,
        ...hitBy(clients, place),
        clients: shown[place]!.map((client) => clientReport(client, place, timelines[place]!)),
        timeline: timeline.bins(),
      };
    }),
  };
}

function noTotal(bins: number): Total {
  return { denied: 0, deniedUnits: 0, delayed: 0, delay: 0, timeline: gatherBins(bins) };
}

function addDecision(total: Total, { at, cost }: LogEntry, { allowed, delay }: Decision): void {
  total.timeline.add(at, cost, allowed);
  if (!allowed) {
    total.denied++;
    total.deniedUnits += cost;
  } else if (delay > 0) {
    total.delayed++;
    total.delay += delay;
  }
}

function clientReport(
  { key, requests, tallies }: Client,
  place: number,
  timelines: ReadonlyMap<string, BinGatherer>,
): ClientReport {
  const { denied, lockOut } = tallies[place]!;
  return { key, requests, denied, lockOut, timeline: timelines.get(key)!.bins() };
}

function readOptions(options: ReplayOptions): Required<{ [K in keyof ReplayOptions]: number }> {
  const action = "replay a log";
  checkOptions<ReplayOptions>(action, options, { maxClients: true, topClients: true, bins: true });
  const { maxClients = 100_000, topClients = 10, bins = 240 } = options;
  checkInteger(action, "maxClients", maxClients, 1);
  checkInteger(action, "topClients", topClients, 0);
  checkInteger(action, "bins", bins, 2);
  return { maxClients, topClients, bins: bins + bins % 2 };
}

/** The clients that were refused most often, then those with the most requests. */
function worthShowing(
  clients: ReadonlyMap<string, Client>,
  place: number,
  most: number,
): readonly Client[] {
  return [...clients.values()]
    .sort((a, b) => b.tallies[place]!.denied - a.tallies[place]!.denied || b.requests - a.requests)
    .slice(0, most);
}

function hitBy(
  clients: ReadonlyMap<string, Client>,
  place: number,
): Pick<CandidateReport, "clientsHit" | "longestLockOut"> {
  let clientsHit = 0;
  let longest: { key: string; milliseconds: number } | undefined;
  for (const { key, tallies } of clients.values()) {
    const { denied, lockOut } = tallies[place]!;
    if (denied === 0) continue;
    clientsHit++;
    if (longest === undefined || lockOut > longest.milliseconds) {
      longest = { key, milliseconds: lockOut };
    }
  }
  return { clientsHit, longestLockOut: longest };
}

/** The timelines of the clients that are shown, by a second pass. */
async function timelinesOf(
  read: LogReader,
  candidates: readonly Required<Candidate>[],
  shown: readonly (readonly Client[])[],
  { maxClients, bins }: { readonly maxClients: number; readonly bins: number },
): Promise<readonly ReadonlyMap<string, BinGatherer>[]> {
  const gatherers = shown.map((clients) =>
    new Map(clients.map(({ key }) => [key, gatherBins(bins)]))
  );
  if (gatherers.every(({ size }) => size === 0)) return gatherers;
  await decideLog(read, candidates, maxClients, ({ at, key, cost }, place, { allowed }) => {
    gatherers[place]!.get(key)?.add(at, cost, allowed);
  });
  return gatherers;
}
