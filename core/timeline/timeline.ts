/**
 * Units taken, in order of time: an immutable value. Time is counted in the sub-buckets of a
 * sliding window (buckets for short), by their numbers, which never fall.
 *
 * The reducer of `slidingWindow` and `slidingLog` needs nothing else, so that each store may keep
 * the history in a form of its own.
 */
export interface Timeline {
  /** The newest bucket that holds units; `-Infinity` when none does. */
  readonly newest: number;
  /** About how many bytes it takes in the engine's memory; absent where it lies elsewhere. */
  readonly bytes?: number;
  /** Units at `bucket` and later. */
  since(bucket: number): number;
  /** The first bucket after which at most `units` lie; `-Infinity` if no more are held at all. */
  leaves(units: number): number;
  /** With `units`, 1 or more, added at `bucket`, newest or later; may forget those before `oldest`. */
  add(bucket: number, units: number, oldest: number): Timeline;
  /** Without the newest `units`: 1 or more, and fewer than are held. */
  takeBack(units: number): Timeline;
  /** The empty timeline. */
  none(): Timeline;
}
