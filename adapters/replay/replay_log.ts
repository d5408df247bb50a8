/*
 * A replay is a fold: each request of the log steps its client's state, once for each candidate.
 * Clients are decided one after the other, because a client's requests change no state of another
 * client.
 */

import { checkOptions, errorMessage, integerFrom } from "../../core/application_support.ts";
import { candidateTally } from "./candidate_tally.ts";
import { clientDecider } from "./decide_client.ts";
import type { Algorithm } from "../../mod.ts";
import { type ClientRequests, eachClient, type LogSource, totalsOf, traceOf } from "./log/trace.ts";
import type { ReplayReport } from "./replay_report.ts";
import { decidersOf, largestUse, smallestLimit } from "./smallest_limit.ts";
import { addTo, emptyBins, type TimeBins } from "./time_bins.ts";

const ACTION = "replay a log";

/** A limit to try. */
export interface Candidate {
  /** The candidate's name in reports; default the algorithm's name. */
  readonly name?: string | undefined;
  /** The algorithm that decides. */
  readonly algorithm: Algorithm;
  /** The same with another limit, to find the smallest one that refuses no request. */
  readonly make?: ((limit: number) => Algorithm) | undefined;
}

/** The options of `replay`. */
export interface ReplayOptions {
  /** The most clients to distinguish; a positive integer; default 100,000. */
  readonly maxClients?: number | undefined;
  /** How many clients to report on, for each candidate; default 10. */
  readonly topClients?: number | undefined;
  /** The most bins of a timeline; an even number; default 240. */
  readonly bins?: number | undefined;
}

/**
 * Replays a log against limits, to see what they would have done to that traffic.
 *
 * A log shows what clients did when nothing held them back: it does not show whether refused
 * clients come again. Requests are decided in order of time, whatever the order of the lines.
 * `readTrace` spreads a log of whole seconds. A limit that is sensitive to the order within a
 * second is then also tried on requests that all come at the start of their second.
 *
 * The log is read once. Memory is some 25 bytes a request beyond the memory for clients; time is
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
  checkOptions<ReplayOptions>(ACTION, options, {
    maxClients: integerFrom(1),
    topClients: integerFrom(0),
    bins: integerFrom(2),
  });
  const { maxClients = 100_000, topClients = 10 } = options;
  const bins = Math.ceil((options.bins ?? 240) / 2) * 2;
  const named = readCandidates(candidates);
  const trace = await traceOf(ACTION, source, maxClients);
  const { clients, counts, backSteps, start, end, log } = trace;
  const ceiling = largestUse(trace);
  const busiest = counts.reduce((most, count) => Math.max(most, count), 0);
  const trials = named.map(({ name, algorithm, make }) => ({
    tally: candidateTally({ name, id: algorithm.id }, trace, bins, topClients),
    decider: clientDecider(algorithm),
    verdicts: new Uint8Array(busiest),
    deciderOf: make && decidersOf(make),
    smallest: make && 1,
    deniedAtOnce: (log?.resolution ?? 1) > 1 && feelsSecond(algorithm) ? 0 : undefined,
  }));
  const all = emptyBins(start, end, bins);

  eachClient(trace, (client, requests) => {
    const { at, cost } = requests;
    const key = clients[client]!;
    for (let row = 0; row < at.length; row++) addTo(all, at[row]!, cost?.[row] ?? 1, false);
    for (const trial of trials) {
      const { verdicts, deciderOf, smallest } = trial;
      const tally = trial.decider.decide(requests, verdicts);
      trial.tally.add(key, at.length, tally, () => clientTimeline(requests, verdicts, bins));
      for (let row = 0; row < at.length && tally.denied > 0; row++) {
        if (verdicts[row] === 1) addTo(trial.tally.timeline, at[row]!, cost?.[row] ?? 1, true);
      }
      if (trial.deniedAtOnce !== undefined) {
        const atOnce = { at: at.map((instant) => instant - instant % 1_000), cost };
        trial.deniedAtOnce += trial.decider.refusals(atOnce, Infinity);
      }
      // Most clients are decided once: by the largest limit that one before them needs.
      if (deciderOf !== undefined && smallest !== Infinity) {
        trial.smallest = smallestLimit(deciderOf, smallest!, ceiling, requests);
      }
    }
  });
  return {
    ...{ ...totalsOf(trace), clients: clients.length, backSteps },
    candidates: trials.map(({ tally, smallest, deniedAtOnce }) => {
      const { allowed, denied } = tally.timeline;
      all.allowed.forEach((units, bin) => allowed[bin] = units - denied[bin]!);
      return tally.report(smallest, deniedAtOnce);
    }),
  };
}

/** Whether it matters to a limit when in its second a request comes: it admits much in one. */
function feelsSecond({ policies }: Algorithm): boolean {
  return policies.some(({ limit, period, burst }) => limit * 1_000 / period > burst / 10);
}

function clientTimeline(
  { at, cost }: ClientRequests,
  verdicts: Uint8Array,
  most: number,
): TimeBins {
  const bins = emptyBins(at[0]!, at.at(-1)!, most);
  at.forEach((instant, row) => addTo(bins, instant, cost?.[row] ?? 1, verdicts[row] === 1));
  return bins;
}

/** A candidate with a name. */
type NamedCandidate = Candidate & { readonly name: string };

/** The most limits that are tried at once. */
const MAX_CANDIDATES = 64;

/** Requires candidates, and gives each a name of its own. */
function readCandidates(
  candidates: readonly Candidate[],
): readonly NamedCandidate[] {
  if (!Array.isArray(candidates) || candidates.length === 0) {
    throw new TypeError(errorMessage(ACTION, "it needs at least one candidate", candidates));
  }
  if (candidates.length > MAX_CANDIDATES) {
    const rule = `there must be at most ${MAX_CANDIDATES} candidates`;
    throw new RangeError(errorMessage(ACTION, rule, candidates.length));
  }
  const taken = new Set<string>();
  return candidates.map(({ name, algorithm, make }: Candidate) => {
    if (typeof algorithm?.step !== "function") {
      throw new TypeError(errorMessage(ACTION, "a candidate must have an algorithm", algorithm));
    }
    const wanted = name ?? `${algorithm.id.split("/")[0]} ${algorithm.name}`;
    let own = wanted;
    for (let count = 2; taken.has(own); count++) own = `${wanted} (${count})`;
    taken.add(own);
    return { name: own, algorithm, make };
  });
}
