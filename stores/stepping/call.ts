/*
 * A call as stores step it: what it asks for, and what came of it. How it comes to be stepped, and how
 * its caller learns the answer, is each store's own.
 */

import type { Formula } from "../../core/algorithm.ts";
import type { BoundVerb, Operation } from "../../core/store.ts";
import type { Cell } from "./cell.ts";

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

/** A call on a store. */
export interface Call extends SpacedKey {
  /** The key, or the first of several keys. */
  readonly key: string;
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
  /** The cell of its first key, while it is stepped. */
  cell: Cell | undefined;
  /** The value that the call returns once its cells are committed. */
  answer: Answer;
}

/** Whether a call never writes, whatever its outcome. */
export function isReadOnly({ bound, argument, several }: Call): boolean {
  if (bound !== undefined) return looks(bound, argument);
  return several?.parts.every(({ bound, argument, older }) =>
    bound.verb.kind === "look" || older.length === 0 && looks(bound, argument)
  ) === true;
}

function looks({ verb }: Bound, argument: unknown): boolean {
  return verb.kind === "look" || verb.units(argument) === 0;
}

/** Every key that a call reads or writes. */
export function keysOf(call: Call): readonly SpacedKey[] {
  return call.several === undefined ? [call] : call.several.keys;
}

/** The stored keys of these keys. */
export function namesOf(call: Call): readonly string[] {
  return keysOf(call).map(({ space, key }) => space.nameOf(key));
}
