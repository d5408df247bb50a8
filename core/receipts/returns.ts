/*
 * How an algorithm gives the units of one call back, as two interfaces. `Returns` is the arithmetic
 * for states without notes; each accounting has its own. `Receipts` is for verbs and stores, and
 * handles states with notes and without.
 */

import type { RememberedReceipts } from "./remembered_receipts.ts";

/**
 * The result of giving back: the state, the units that were given back, and the sum of ticks given
 * back.
 */
export type Returned<State> = readonly [state: State, returned: number, back: number];

/** How an algorithm gives back the units of one call. All of it is pure. */
export interface Returns<State> {
  /** How many numbers a mark has. */
  readonly size: number;
  /**
   * The numbers that find the units of a call again.
   *
   * @param after The state that the call left.
   * @param back Ticks that were given back by then, where the algorithm counts them.
   */
  mark(after: State, back: number): readonly number[];
  /**
   * The state without the units that still count, as if the call had cost so much less.
   *
   * @param units 1 or more.
   * @param closes Whether it is the last time that units of the call are given back.
   */
  giveBack(
    state: State,
    now: number,
    units: number,
    mark: readonly number[],
    back: number,
    closes: boolean,
  ): Returned<State>;
  /** Milliseconds after which none of the units that a call at `now` took can count. */
  lasts(after: State, now: number): number;
}

/** How the units of calls are given back, for states with notes and without. */
export interface Receipts<State = unknown> {
  /** How many numbers a mark has. */
  readonly size: number;
  /** The numbers that find the units of the call that left the state `after`. */
  mark(after: State): readonly number[];
  /**
   * The state without the units that still count, and the number of these units.
   *
   * @param closes Whether it is the last time that units of the call are given back.
   */
  giveBack(
    state: State,
    now: number,
    units: number,
    mark: readonly number[],
    closes: boolean,
  ): readonly [state: State, returned: number];
  /** Milliseconds after which none of the units that a call at `now` took can count. */
  lasts(after: State, now: number): number;
  /** The state without the receipts whose time is over at `now`. */
  settled(state: State, now: number): State;
  /** The receipts that the state remembers. */
  entries(state: State): RememberedReceipts;
  /** The state that remembers these receipts in place of its own; `now` is the instant of the call. */
  remember(state: State, entries: RememberedReceipts, now: number): State;
  /**
   * Milliseconds for which a state that was just written must be kept: until it is fresh and its
   * notes are no longer needed.
   */
  keptFor(state: State, now: number, resetAfter: number): number;
}
