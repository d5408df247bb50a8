/**
 * Units taken, in order of time: an immutable value. Time is counted in the sub-buckets of a
 * sliding window (buckets for short), by their numbers, which never fall.
 *
 * The reducer of `slidingWindow` and `slidingLog` needs nothing else, so that each store may keep
 * the history in a form of its own.
 */
export interface Timeline {
  /** The newest bucket that holds units; `-Infinity` if no bucket does. */
  readonly newest: number;
  /** Roughly how many bytes it takes in the engine's memory; absent if it is kept elsewhere. */
  readonly bytes?: number;
  /** Units at `bucket` and later. */
  since(bucket: number): number;
  /**
   * The first bucket after which at most `units` lie; `-Infinity` if the timeline holds no more
   * than that.
   */
  leaves(units: number): number;
  /**
   * The timeline with `units`, 1 or more, added at `bucket`, which is `newest` or later. It may
   * forget buckets before `oldest`.
   */
  add(bucket: number, units: number, oldest: number): Timeline;
  /** The timeline without the newest `units`: 1 or more, and fewer than it holds. */
  takeBack(units: number): Timeline;
  /** The empty timeline. */
  none(): Timeline;
}
