/*
 * The result of a replay, as plain data. Table, page and JSON are three views of it, so none of
 * them computes figures of its own.
 */

import type { LogTotals } from "./log/trace.ts";
import type { TimeBins } from "./time_bins.ts";

/** The outcome of one client's requests. */
export interface ClientReport {
  /** The client. */
  readonly key: string;
  /** Its requests. */
  readonly requests: number;
  /** How many of them were refused. */
  readonly denied: number;
  /**
   * Its longest lock-out in milliseconds: from a refusal to the next admission, or to when the last
   * refusal said that it may come again; `Infinity` if a request could never be admitted.
   */
  readonly lockOut: number;
  /** Its units over time, by outcome. */
  readonly timeline: TimeBins;
}

/** The outcome of all requests under one candidate. */
export interface CandidateReport {
  /** The candidate's name. */
  readonly name: string;
  /** The algorithm and its options, as text. */
  readonly id: string;
  /** Requests that it would have refused. */
  readonly denied: number;
  /** Units of these. */
  readonly deniedUnits: number;
  /** Requests that it would have made wait. */
  readonly delayed: number;
  /** How long these would have waited altogether, in milliseconds. */
  readonly delay: number;
  /** Clients that would have been refused at least once. */
  readonly clientsHit: number;
  /** The longest lock-out of any client; `undefined` if no request was refused. */
  readonly longestLockOut: { readonly key: string; readonly milliseconds: number } | undefined;
  /** The clients hit hardest, then the busiest of the others. */
  readonly clients: readonly ClientReport[];
  /** All units over time, by outcome. */
  readonly timeline: TimeBins;
  /**
   * The smallest limit, all else being equal, that would have refused no request; `Infinity` if
   * every limit would have refused one, `undefined` if the candidate has no `make`.
   */
  readonly smallest: number | undefined;
  /**
   * For a log of whole seconds: how many requests it would have refused if all requests of a second
   * had come at its start, which the log cannot say. `undefined` where that matters little, or was
   * not tried.
   */
  readonly deniedAtOnce: number | undefined;
}

/** A log replayed against candidates. */
export interface ReplayReport extends LogTotals {
  /** Clients that were counted. */
  readonly clients: number;
  /** Requests with an earlier time than one before them; they were put in order. */
  readonly backSteps: number;
  /** Each candidate, in order. */
  readonly candidates: readonly CandidateReport[];
}
