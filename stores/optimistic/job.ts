/*
 * A call on the store, from the queue to its answer. It outlives batches: a call whose batch fails or
 * loses a race goes into the next one, and its job keeps count of the tries.
 */

import type { Formula } from "../../core/algorithm.ts";
import type { BoundVerb, Operation } from "../../core/store.ts";
import type { Cell } from "./cell.ts";
import { performance } from "../own_timers.ts";

/**
 * The value that a call returns: a verb's answer, a list of answers, or nothing if it forgets a key.
 */
export type Answer = unknown;

/** A verb bound to the keys of a family in this store. */
export interface Bound extends BoundVerb<unknown, unknown, "async"> {
  /** The formula of its transition, if there is one. */
  readonly formula: Formula | undefined;
  /** 1 if the formula takes units, -1 if it gives them back, 0 if it does nothing. */
  readonly sign: 1 | -1 | 0;
  /** The most milliseconds until a state without debt is fresh. */
  readonly longest: number;
}

/** The keys of one prefix and one algorithm. */
export interface KeySpace {
  /** A text that no other prefix and algorithm share. */
  readonly text: string;
  /** Makes a stored key. Throws if the key cannot be stored. */
  nameOf(key: string): string;
}

/** A key without its stored key, which is made only once for each cell. */
export interface SpacedKey {
  readonly space: KeySpace;
  readonly key: string;
}

/** One of several operations that run all or nothing. */
export interface Part extends Operation, SpacedKey {
  readonly bound: Bound;
  /** The same key under older options, the newest first. */
  readonly older: readonly SpacedKey[];
}

/** Operations that run all or nothing. */
export interface Several {
  readonly parts: readonly Part[];
  /** Every key that they read or write. */
  readonly keys: readonly SpacedKey[];
  /** Whether the call returns its single answer, and not a list. */
  readonly isSingle: boolean;
}

/** A turn of the event loop. */
export interface Turn {
  /** The instant of its end, by `performance.now`; `undefined` until then. */
  end: number | undefined;
}

/** A call on the store: its task, and its tries so far. */
export interface Job extends SpacedKey {
  readonly space: KeySpace;
  /** The key, or the first of several keys. */
  readonly key: string;
  /** The hash slot of all keys; 0 on a single server. */
  readonly slot: number;
  /** The instant at which to decide; `undefined` for the store's time. */
  readonly at: number | undefined;
  /**
   * The verb, if the call needs one key; `undefined` for several operations, and to forget the key.
   */
  readonly bound: Bound | undefined;
  /** The verb's argument. */
  readonly argument: unknown;
  /** Operations that run all or nothing, in place of `bound`. */
  readonly several: Several | undefined;
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
  /** The cell of its first key, in its present batch. */
  cell: Cell | undefined;
  /** Whether it has been answered, or has failed. */
  settled: boolean;
  /** The value that the call returns once the batch is committed. */
  answer: Answer;
}

/** A call that has not been tried yet. */
export function newJob(
  space: KeySpace,
  key: string,
  slot: number,
  at: number | undefined,
  bound: Bound | undefined,
  argument: unknown,
  several: Several | undefined,
  turn: Turn,
  resolve: (answer: Answer) => void,
  reject: (error: Error) => void,
): Job {
  return {
    space,
    key,
    slot,
    at,
    bound,
    argument,
    several,
    turn,
    resolve,
    reject,
    tries: 0,
    races: 0,
    alone: false,
    lockedOut: undefined,
    cell: undefined,
    settled: false,
    answer: undefined,
  };
}

/** The instant since which a call could have been sent, by `performance.now`. */
export function waitsSince({ turn }: Job): number {
  return turn.end ?? performance.now();
}

/** The stored keys of a call as one text, which compares the keys of calls that must be alone. */
export function keySet(job: Job): string {
  return namesOf(job).join(" ");
}

/** Whether a call never writes, whatever its outcome. */
export function isReadOnly({ bound, argument, several }: Job): boolean {
  if (bound !== undefined) return looks(bound, argument);
  return several?.parts.every(({ bound, argument, older }) =>
    bound.verb.kind === "look" || older.length === 0 && looks(bound, argument)
  ) === true;
}

function looks({ verb }: Bound, argument: unknown): boolean {
  return verb.kind === "look" || verb.units(argument) === 0;
}

/** Every key that a call reads or writes. */
export function keysOf(job: Job): readonly SpacedKey[] {
  return job.several === undefined ? [job] : job.several.keys;
}

/** The stored keys of these keys. */
export function namesOf(job: Job): readonly string[] {
  return keysOf(job).map(({ space, key }) => space.nameOf(key));
}
