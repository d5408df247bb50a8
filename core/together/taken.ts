/*
 * The units and permits that a request has taken, to be given back if it fails or is refused, or when it
 * has ended.
 */

import { allOf, orElse } from "../maybe_promise.ts";
import type { Ask } from "./ask.ts";
import { type Undo, undoOf } from "./undo.ts";

/** An admitted ask. */
export interface Taken {
  readonly ask: Ask;
  readonly answer: unknown;
  /** Gives back what it took; `undefined` if nothing can be given back. */
  readonly undo: Undo | undefined;
}

/** An ask that has just been admitted. */
export function takenBy(ask: Ask, answer: unknown): Taken {
  const { counter, bound: { verb }, key, argument } = ask;
  return { ask, answer, undo: undoOf(counter, key, verb.undo?.(argument, answer)) };
}

/**
 * Gives back all that is taken, and empties the list. It never fails: units that cannot be given back
 * stay charged, because a limit must not admit too much.
 *
 * @returns A promise if the store answers by promises.
 */
export function giveBack(taken: Taken[]): unknown {
  return allOf(
    taken.splice(0).map(({ undo }) => undo === undefined ? undefined : orElse(undo, nothing)),
  );
}

function nothing(): undefined {}
