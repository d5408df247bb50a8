/*
 * Advice as plain data. The text and the page are views of it, so neither computes figures of its
 * own.
 */

import type { LogTotals } from "../log/trace.ts";
import type { AdvisedLimit } from "./choose_limits.ts";

/** One of the heaviest clients, and what the limits would have done to it. */
export interface HeavyClient {
  /** The client. */
  readonly key: string;
  /** Its requests. */
  readonly requests: number;
  /** Its most units within the period. */
  readonly most: number;
  /** Whether it was set aside. */
  readonly isSetAside: boolean;
  /** How many of its requests the limit that refuses nobody would have refused. */
  readonly refused: number;
  /** How many the tight one would have refused. */
  readonly refusedByTight: number;
}

/** A client that no sane limit would admit, and how it stands out. */
export interface OddClient {
  /** The client. */
  readonly key: string;
  /** Its requests. */
  readonly requests: number;
  /** Its most units within the span in which it stands out most. */
  readonly most: number;
  /** That span, in milliseconds. */
  readonly span: number;
  /** How many times as much it needs as the busiest ordinary client. */
  readonly times: number;
  /** Whether it came at a steady pace, like a program. */
  readonly isSteady: boolean;
  /** Whether the advised limit would have refused it. */
  readonly isRefused: boolean;
}

/** Clients that need between one amount and another within the period. */
export interface NeedBin {
  /** From. */
  readonly from: number;
  /** To, included. */
  readonly to: number;
  /** Ordinary ones. */
  readonly ordinary: number;
  /** Clients that were set aside. */
  readonly setAside: number;
}

/** Advice about some of the requests. */
export interface PartAdvice {
  /** The requests that the advice is about. */
  readonly part: "all" | "writes" | "logins";
  /** How many. */
  readonly requests: number;
  /** The ordinary clients that made them. */
  readonly ordinary: number;
  /** How many clients were set aside. */
  readonly setAside: number;
  /** The clients set aside that stand out most. */
  readonly odd: readonly OddClient[];
  /** How many clients come at equal distances all the time, and count as ordinary. */
  readonly monitors: number;
  /** One limit or two to use together: none refuses an ordinary client. */
  readonly limits: readonly AdvisedLimit[];
  /** How many times as much the limits admit as ordinary clients needed. */
  readonly headroom: number;
  /** How many of the clients set aside the limits refuse at least once. */
  readonly refuses: number;
  /** The smallest limit of that period that refuses at most one ordinary client in a thousand. */
  readonly tight: AdvisedLimit;
  /** How many ordinary clients it refuses. */
  readonly tightRefuses: number;
  /** How many clients form a second group far above the others, too many to be set aside; or 0. */
  readonly secondGroup: number;
  /** The heaviest clients. */
  readonly heaviest: readonly HeavyClient[];
  /** How many clients need how much within the period of the first limit. */
  readonly needs: readonly NeedBin[];
}

/** The limit that a log's clients need, and the facts that it follows from. */
export interface Advice extends LogTotals {
  /** Clients. */
  readonly clients: number;
  /** How exact its times are, in milliseconds: 1,000 if all are whole seconds. */
  readonly grain: 1 | 1_000;
  /** The most requests of one client. */
  readonly busiest: number;
  /** How many requests write; 0 if the trace was read without `marks`. */
  readonly writes: number;
  /** How many log in. */
  readonly logins: number;
  /**
   * The advice: about all requests first, then about those that write and those that log in, if
   * there are enough of them.
   */
  readonly parts: readonly PartAdvice[];
}
