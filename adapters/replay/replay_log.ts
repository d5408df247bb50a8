/*
 * A replay is a fold: each request of the log steps its client's state, once for each candidate.
 * Clients are decided one after the other, as one's requests change no state of another's.
 */

import { checkInteger, checkOptions, errorMessage } from "../../core/toolkit.ts";
import { type Candidate, readCandidates } from "./candidate.ts";
import { clientDecider } from "./decide_client.ts";
import { eachClient, type LogSource, type Trace, traceOf } from "./log/trace.ts";
import { comparer, type Comparison } from "./compare_clients.ts";
import type { CandidateReport, ClientReport, ReplayReport } from "./replay_report.ts";
import { smallestLimits } from "./sweep.ts";
import { firstFew } from "./first_few.ts";
import { addTo, emptyBins, type TimeBins } from "./time_bins.ts";

/** The options of `replay`. */
export interface ReplayOptions {
  /** The most clients to distinguish; a positive integer; default 100,000. */
  readonly maxClients?: number | undefined;
  /** How many clients to report on, for each candidate; default 10. */
  readonly topClients?: number | undefined;
  /** The most bins of a timeline; an even number; default 240. */
  readonly bins?: number | undefined;
  /** Whether to compare the first two candidates; default false. */
  readonly compare?: boolean | undefined;
}

/** What one candidate adds up over all clients, and what it did to each. */
interface Total {
  denied: number;
  deniedUnits: number;
  delayed: number;
  delay: number;
  readonly deniedOf: Uint32Array;
  readonly lockOutOf: Float64Array;
  readonly timeline: ReturnType<typeof emptyBins>;
}

/**
 * Replays a log against limits, to see what they would have done to that traffic.
 *
 * A log is what clients did when nothing held them back: it does not show whether those who are
 * refused come again. Its times are as exact as it was written, often to the second. Requests are
 * decided in order of time, whatever the order of the lines.
 *
 * The log is read once. Memory is some 20 bytes a request beside what clients take; time is
 * proportional to requests times candidates.
 *
 * @param source The log: a trace, entries, or a function that opens them.
 * @param candidates The limits to try; at most 64.
 * @param options As above.
 * @throws {TypeError} If an argument is of the wrong type.
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
  const asked = readOptions(options);
  const { maxClients, topClients, bins } = asked;
  const named = readCandidates(candidates);
  if (asked.compare && named.length !== 2) {
    const rule = "two candidates are needed to compare them";
    throw new RangeError(errorMessage("replay a log", rule, named.length));
  }
  const trace = await traceOf("replay a log", source, maxClients);
  const { totals, smallest, comparison } = decideTrace(trace, named, asked);
  const shown = totals.map((total) => worthShowing(trace, total, topClients));
  const timelines = timelinesOf(trace, named, shown, bins);
  const { requests, units, untracked, backSteps, start, end, log } = trace;
  return {
    ...{ requests, units, clients: trace.clients.length, untracked, start, end, backSteps, log },
    candidates: named.map(({ name, algorithm }, place): CandidateReport => {
      const total = totals[place]!;
      return {
        name,
        id: algorithm.id,
        denied: total.denied,
        deniedUnits: total.deniedUnits,
        delayed: total.delayed,
        delay: total.delay,
        ...hitBy(trace, total),
        clients: shown[place]!.map((client, row): ClientReport => ({
          key: trace.clients[client]!,
          requests: trace.counts[client]!,
          denied: total.deniedOf[client]!,
          lockOut: total.lockOutOf[client]!,
          timeline: timelines[place]![row]!,
        })),
        timeline: total.timeline,
        smallest: smallest[place],
      };
    }),
    comparison,
  };
}

function readOptions(options: ReplayOptions) {
  const action = "replay a log";
  checkOptions<ReplayOptions>(action, options, {
    maxClients: true,
    topClients: true,
    bins: true,
    compare: true,
  });
  const { maxClients = 100_000, topClients = 10, bins = 240, compare = false } = options;
  checkInteger(action, "maxClients", maxClients, 1);
  checkInteger(action, "topClients", topClients, 0);
  checkInteger(action, "bins", bins, 2);
  return { maxClients, topClients, bins: bins + bins % 2, compare };
}

/** Decides all requests for each candidate. */
function decideTrace(
  trace: Trace,
  candidates: readonly Candidate[],
  { bins, compare, topClients }: ReturnType<typeof readOptions>,
): {
  readonly totals: readonly Total[];
  readonly smallest: readonly (number | undefined)[];
  readonly comparison: Comparison | undefined;
} {
  const { start, end, counts, clients } = trace;
  const deciders = candidates.map(({ algorithm }) => clientDecider(algorithm));
  const busiest = counts.reduce((most, count) => Math.max(most, count), 0);
  const verdicts = deciders.map(() => new Uint8Array(busiest));
  const totals = deciders.map((): Total => ({
    ...{ denied: 0, deniedUnits: 0, delayed: 0, delay: 0 },
    deniedOf: new Uint32Array(clients.length),
    lockOutOf: new Float64Array(clients.length),
    timeline: emptyBins(start, end, bins),
  }));
  const all = emptyBins(start, end, bins);
  const { smallest, raise } = smallestLimits(trace, candidates);
  const compared = compare ? comparer(topClients) : undefined;

  eachClient(trace, (client, at, cost, from, to) => {
    for (let row = from; row < to; row++) {
      addTo(all, at[row]!, cost === undefined ? 1 : cost[row]!, false);
    }
    for (let place = 0; place < deciders.length; place++) {
      const total = totals[place]!;
      const refused = verdicts[place]!;
      const tally = deciders[place]!.decide(at, cost, from, to, refused);
      total.delayed += tally.delayed;
      total.delay += tally.delay;
      if (tally.denied === 0) continue;
      total.denied += tally.denied;
      total.deniedUnits += tally.deniedUnits;
      total.deniedOf[client] = tally.denied;
      total.lockOutOf[client] = tally.lockOut.longest;
      for (let row = from; row < to; row++) {
        if (refused[row - from] === 1) addTo(total.timeline, at[row]!, cost?.[row] ?? 1, true);
      }
    }
    raise(at, cost, from, to);
    compared?.add(clients[client]!, to - from, verdicts[0]!, verdicts[1]!);
  });
  for (const { timeline } of totals) {
    all.allowed.forEach((units, bin) => timeline.allowed[bin] = units - timeline.denied[bin]!);
  }
  return { totals, smallest, comparison: compared?.comparison() };
}

/** The clients that were refused most often, then those with the most requests. */
function worthShowing(
  { counts }: Trace,
  { deniedOf }: Total,
  most: number,
): readonly number[] {
  return firstFew(
    counts.keys(),
    most,
    (one, other) =>
      deniedOf[other]! - deniedOf[one]! || counts[other]! - counts[one]! || one - other,
  );
}

function hitBy(
  { clients }: Trace,
  { deniedOf, lockOutOf }: Total,
): Pick<CandidateReport, "clientsHit" | "longestLockOut"> {
  let clientsHit = 0;
  let longest: { key: string; milliseconds: number } | undefined;
  for (let client = 0; client < clients.length; client++) {
    if (deniedOf[client] === 0) continue;
    clientsHit++;
    const milliseconds = lockOutOf[client]!;
    if (longest === undefined || milliseconds > longest.milliseconds) {
      longest = { key: clients[client]!, milliseconds };
    }
  }
  return { clientsHit, longestLockOut: longest };
}

/** The timelines of the clients that are shown: they are decided once more. */
function timelinesOf(
  trace: Trace,
  candidates: readonly Candidate[],
  shown: readonly (readonly number[])[],
  most: number,
): readonly (readonly TimeBins[])[] {
  const timelines: TimeBins[][] = candidates.map(() => []);
  const deciders = candidates.map(({ algorithm }) => clientDecider(algorithm));
  const isShown = new Uint8Array(trace.clients.length);
  for (const client of shown.flat()) isShown[client] = 1;
  eachClient(trace, (client, at, cost, from, to) => {
    const verdicts = new Uint8Array(to - from);
    shown.forEach((clients, place) => {
      const row = clients.indexOf(client);
      if (row === -1) return;
      deciders[place]!.decide(at, cost, from, to, verdicts);
      const bins = emptyBins(at[from]!, at[to - 1]!, most);
      for (let row = from; row < to; row++) {
        addTo(bins, at[row]!, cost?.[row] ?? 1, verdicts[row - from] === 1);
      }
      timelines[place]![row] = bins;
    });
  }, isShown);
  return timelines;
}
