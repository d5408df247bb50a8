/*
 * Adds up what one limit does to all clients. It keeps the details of a few clients only, so its
 * memory does not grow with the log.
 */

import type { Tally } from "./decide_client.ts";
import type { CandidateReport, ClientReport } from "./replay_report.ts";
import { emptyBins, type FilledBins, type TimeBins } from "./time_bins.ts";

/** Adds up what one limit does to clients, one after the other. */
export interface CandidateTally {
  /** All units over time; the caller fills it. */
  readonly timeline: FilledBins;
  /** Adds a client; `timeline` is called only if the client may be reported on. */
  add(key: string, requests: number, tally: Tally, timeline: () => TimeBins): void;
  report(smallest?: number, deniedAtOnce?: number): CandidateReport;
}

type Ranked = Pick<ClientReport, "denied" | "requests">;

/** The order of clients in a report. */
function byRefusals(one: Ranked, other: Ranked): number {
  return other.denied - one.denied || other.requests - one.requests;
}

/** Makes a tally that reports on some clients: those refused most often, then the busiest. */
export function candidateTally(
  { name, id }: Pick<CandidateReport, "name" | "id">,
  { start, end }: { readonly start: number; readonly end: number },
  bins: number,
  topClients: number,
): CandidateTally {
  const sums = { denied: 0, deniedUnits: 0, delayed: 0, delay: 0, clientsHit: 0 };
  // A few more than are reported on, so that they are rarely sorted.
  let top: ClientReport[] = [];
  let last: ClientReport | undefined;
  const timeline = emptyBins(start, end, bins);
  let longestLockOut: CandidateReport["longestLockOut"];
  return {
    timeline,
    add(key, requests, { denied, deniedUnits, delayed, delay, lockOut }, timelineOf) {
      sums.denied += denied;
      sums.deniedUnits += deniedUnits;
      sums.delayed += delayed;
      sums.delay += delay;
      if (denied > 0) {
        sums.clientsHit++;
        if (lockOut > (longestLockOut?.milliseconds ?? -1)) {
          longestLockOut = { key, milliseconds: lockOut };
        }
      }
      const client = { key, requests, denied, lockOut };
      if (topClients === 0 || (last !== undefined && byRefusals(client, last) >= 0)) return;
      top.push({ ...client, timeline: timelineOf() });
      if (top.length < 2 * topClients + 100) return;
      top = top.sort(byRefusals).slice(0, topClients);
      last = top.at(-1);
    },
    report: (smallest, deniedAtOnce) => ({
      ...{ name, id, ...sums, longestLockOut },
      clients: top.sort(byRefusals).slice(0, topClients),
      ...{ timeline, smallest, deniedAtOnce },
    }),
  };
}
