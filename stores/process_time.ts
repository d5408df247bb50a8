/*
 * The time of this process, which all of its stores share. It is steady, unless somebody has put a
 * clock of their own in the place of `Date`, as tests do: that is followed wherever it goes.
 */

import { type SteadyTime, steadyTime, type TimeOfOthers } from "../core/steady_time.ts";

const { now: dateNow } = Date;
const clocks = { wall: () => Date.now(), monotonic: () => performance.now() };
const isOtherClock = () => Date.now !== dateNow;

/** Milliseconds since the Unix epoch; they go on where the wall clock is set back. */
export const processTime: SteadyTime = steadyTime(clocks, isOtherClock);

/** The time of this thread, never behind that of others that share a store with it. */
export function threadTime(others: TimeOfOthers): SteadyTime {
  return steadyTime(clocks, isOtherClock, others);
}

/** How often the wall clock was seen to step. */
export const clockSteps: () => number = processTime.steps;
