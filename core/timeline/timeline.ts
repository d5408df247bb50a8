/**
 * Units taken, in order of time: an immutable value. Time is counted in slots, whole numbers that
 * never fall; a sliding window's slots are its sub-buckets.
 *
 * The reducer of `slidingWindow` and `slidingLog` needs nothing else, so that each store may keep
 * the history in a form of its own.
 */
export interface Timeline {
  /** The newest slot that holds units; `-Infinity` when none does. */
  readonly newest: number;
  /** About how many bytes it takes in the engine's memory; absent where it lies elsewhere. */
  readonly bytes?: number;
  /** Units at `slot` and later. */
  since(slot: number): number;
  /** The first slot after which at most `units` lie; `-Infinity` if no more are held at all. */
  leaves(units: number): number;
  /** With `units`, 1 or more, added at `slot`, newest or later; may forget slots before `oldest`. */
  add(slot: number, units: number, oldest: number): Timeline;
  /** Without the newest `units`: 1 or more, and fewer than are held. */
  takeBack(units: number): Timeline;
  /** The empty timeline. */
  none(): Timeline;
}
