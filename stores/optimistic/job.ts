/*
 * A call on the store, from the queue to its answer. It outlives batches: a call whose batch fails
 * or loses a race goes into the next one, and the job keeps how far it has come.
 */

import type { Formula } from "../../core/algorithm.ts";
import type { BoundVerb, Operation } from "../../core/store.ts";
import type { Cell } from "./cell.ts";

/** The value that a call returns: a verb's answer, those of several, or nothing if it forgets a key. */
export type Answer = unknown;

/** A verb bound to the keys of a family in this store. */
export interface Bound extends BoundVerb<unknown, unknown, "async"> {
  /** The formula of what it does to a state, if there is one. */
  readonly formula: Formula | undefined;
  /** 1 if the formula takes units, -1 if it gives them back, 0 if nothing is to be done. */
  readonly sign: 1 | -1 | 0;
  /** The most milliseconds until a state is fresh that is not in debt. */
  readonly longest: number;
}

/** The keys of one prefix and one algorithm. */
export interface KeySpace {
  /** A text that no other prefix and algorithm share. */
  readonly text: string;
  /** Makes a stored key; throws if it cannot be stored. */
  nameOf(key: string): string;
}

/** A key, before its stored key is made of it: that is needed once for each cell. */
export interface SpacedKey {
  readonly space: KeySpace;
  readonly key: string;
}

/** One of several operations that are run all or nothing. */
export interface Part extends Operation, SpacedKey {
  readonly bound: Bound;
  /** The same key under older options, the newest first. */
  readonly older: readonly SpacedKey[];
}

/** Operations that are run all or nothing. */
export interface Several {
  readonly parts: readonly Part[];
  /** Every key that is read or written. */
  readonly keys: readonly SpacedKey[];
  /** Whether the call returns the only answer, not a list of one. */
  readonly isSingle: boolean;
}

/** A turn of the event loop. */
export interface Turn {
  /** When it ended, by `performance.now`; `undefined` until then. */
  end: number | undefined;
}

/** A call on the store: what it is to do, and how far it has come. */
export type Job = YoungJob;

/** A call that has not been tried yet. */
export function newJob(...parts: ConstructorParameters<typeof YoungJob>): Job {
  return new YoungJob(...parts);
}

/**
 * A class, although a literal would do. V8 tracks how many objects of a literal survive; if most
 * do, as with calls that wait for a reply, it allocates them in its old generation. There they stay
 * until a full collection and keep alive whatever they refer to: with 512 calls in flight that took
 * a third of the time. V8 always allocates the objects of a constructor in its young generation.
 */
class YoungJob implements SpacedKey {
  readonly space: KeySpace;
  /** The key; of several the first. */
  readonly key: string;
  /** The hash slot of all keys; 0 on a single server. */
  readonly slot: number;
  /** The instant to decide at; `undefined` for the store's time. */
  readonly at: number | undefined;
  /** The verb, if it needs one key; `undefined` of several, and to forget the key. */
  readonly bound: Bound | undefined;
  /** The verb's argument. */
  readonly argument: unknown;
  /** Operations that are run all or nothing, if it is not that one. */
  readonly several: Several | undefined;
  /** The turn that it came in. */
  readonly turn: Turn;
  /** Answers the caller. */
  readonly resolve: (answer: Answer) => void;
  /** Fails the call. */
  readonly reject: (error: Error) => void;
  /** How many tries have failed. */
  tries = 0;
  /** How many of them because others were faster, or had claimed a key. */
  races = 0;
  /** Whether it shares a transaction only with calls on its very keys: others failed with it. */
  alone = false;
  /** Why it could not be committed, if others kept a key of it locked. */
  lockedOut: Error | undefined = undefined;
  /** The cell of the first key, in the batch that it is in. */
  cell: Cell | undefined = undefined;
  /** Whether it was answered, or failed. */
  settled = false;
  /** The value that the call returns once the batch is committed. */
  answer: Answer = undefined;

  constructor(
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
  ) {
    this.space = space;
    this.key = key;
    this.slot = slot;
    this.at = at;
    this.bound = bound;
    this.argument = argument;
    this.several = several;
    this.turn = turn;
    this.resolve = resolve;
    this.reject = reject;
  }

  /** Since when it could have been sent, by `performance.now`. */
  get since(): number {
    return this.turn.end ?? performance.now();
  }
}

/** The stored keys of a call as one text, to compare the keys of calls that must be alone. */
export function keySet(job: Job): string {
  return namesOf(job).join(" ");
}

/** Whether a call writes nothing, whatever comes of it. */
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

/** The same as stored keys. */
export function namesOf(job: Job): readonly string[] {
  return keysOf(job).map(({ space, key }) => space.nameOf(key));
}
