/*
 * A call on the store, from the queue to its answer. It outlives batches: a call whose batch fails or
 * loses a race goes into the next one, and its job keeps count of the tries.
 */

import { type Answer, type Call, namesOf } from "../stepping/call.ts";
import { performance } from "../own_timers.ts";

/** A turn of the event loop. */
export interface Turn {
  /** The instant of its end, by `performance.now`; `undefined` until then. */
  end: number | undefined;
}

/** A call on the store, with its tries so far. */
export interface Job extends Call {
  /** The hash slot of all keys; 0 on a single server. */
  readonly slot: number;
  /** The turn of the event loop in which it came. */
  readonly turn: Turn;
  /** Answers the caller. */
  readonly resolve: (answer: Answer) => void;
  /** Fails the call. */
  readonly reject: (error: Error) => void;
  /** How many tries have failed. */
  tries: number;
  /** How many of these tries failed because others were faster, or had claimed a key. */
  races: number;
  /**
   * Whether it shares a transaction only with calls on the same keys, because others failed with it.
   */
  alone: boolean;
  /** The error if it could not be committed because others kept one of its keys locked. */
  lockedOut: Error | undefined;
  /** Whether it has been answered, or has failed. */
  settled: boolean;
}

/** The instant since which a call could have been sent, by `performance.now`. */
export function waitsSince({ turn }: Job): number {
  return turn.end ?? performance.now();
}

/** The stored keys of a call as one text, which compares the keys of calls that must be alone. */
export function keySet(job: Job): string {
  return namesOf(job).join(" ");
}
