/*
 * The time of stores that live in one process. If the wall clock is set back, a key that was used
 * before seems to be used in the future, and would be refused until then. So when the wall clock
 * steps back, this time goes on at the pace of the monotonic clock. When the wall clock steps
 * forwards, as after a machine was suspended, this time follows it.
 *
 * A call reads only the wall clock, and nearly all calls see the same millisecond as the call
 * before. The monotonic clock is read when the time seems to have gone back, and once a second, so
 * that the time can go on from a recent reading.
 */

/** The clocks of a machine, in milliseconds. */
export interface MachineClocks {
  /** The wall clock, whole milliseconds since the Unix epoch: `Date.now`. */
  wall(): number;
  /** A clock that never steps: `performance.now`. */
  monotonic(): number;
}

/** A time that never goes back. */
export interface SteadyTime {
  /** The time now: whole milliseconds since the Unix epoch, as the wall clock showed it once. */
  (): number;
  /** How often the wall clock has stepped, back or forwards, since the first call. */
  steps(): number;
}

/**
 * The newest time of others that share the time, such as the threads of one store, so that no
 * thread falls behind the others. It is read and published at most once a second.
 */
export interface TimeOfOthers {
  /** The newest time that was published; 0 before the first. */
  newest(): number;
  /** Publishes the time of this one. */
  tell(time: number): void;
}

/**
 * How many milliseconds the clocks may drift apart within a second. A smaller difference is not a
 * step.
 */
const TOLERANCE = 100;
/** How many milliseconds may pass before the monotonic clock is read again. */
const INTERVAL = 1_000;

/**
 * Makes a steady time from two clocks.
 *
 * @param isOtherClock Whether the wall clock was replaced by another clock. The time follows a new
 * clock wherever it goes.
 * @param others Others that share the time, if there are any.
 */
export function steadyTime(
  { wall, monotonic }: MachineClocks,
  isOtherClock: () => boolean = () => false,
  others?: TimeOfOthers,
): SteadyTime {
  // The last reading of the wall clock, the time then, the lead of the time over that clock, and
  // when both clocks are read next. A call in the same millisecond writes none of these variables,
  // so it allocates nothing.
  let [shownAt, last, lead, due] = [NaN, 0, 0, 0];
  /** The time and the monotonic clock at the last reading of both; `undefined` before the first. */
  let read: { readonly time: number; readonly at: number } | undefined;
  let steps = 0;

  /** Reads both clocks, and says what time it is. */
  function compare(shown: number): number {
    const at = monotonic();
    let time = shown;
    if (isOtherClock()) {
      time = shown - lead;
      read = undefined;
    } else {
      if (read !== undefined) time = steadied(shown, read.time + Math.floor(at - read.at));
      if (others !== undefined) {
        time = Math.max(time, others.newest());
        others.tell(time);
      }
      read = { time, at };
    }
    lead += time - shown;
    last = time;
    due = time + INTERVAL;
    return time;
  }

  /** The time, computed from the wall clock and the time that has passed by the monotonic clock. */
  function steadied(shown: number, passed: number): number {
    const isBack = shown < last || shown < passed - TOLERANCE;
    if (isBack || shown > passed + TOLERANCE) steps++;
    return isBack ? Math.max(last, passed) : shown;
  }

  /** The time, when the wall clock shows another millisecond than at the last call. */
  function advance(wallTime: number): number {
    shownAt = wallTime;
    const shown = wallTime + lead;
    return shown >= last && shown < due ? last = shown : compare(shown);
  }

  function now(): number {
    const wallTime = wall();
    return wallTime === shownAt ? last : advance(wallTime);
  }
  return Object.assign(now, { steps: () => steps });
}
