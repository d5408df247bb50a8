/*
 * The time of this process, which all of its stores share. It is steady, unless a test has replaced
 * `Date`. Then the stores follow the test's clock wherever it goes.
 */

import { isDateFaked } from "../core/faked_date.ts";
import { type SteadyTime, steadyTime, type TimeOfOthers } from "../core/steady_time.ts";

const clocks = { wall: () => Date.now(), monotonic: () => performance.now() };

/** Milliseconds since the Unix epoch. They go on when the wall clock is set back. */
export const processTime: SteadyTime = steadyTime(clocks, isDateFaked);

/** The time of this thread, never behind the time of other threads that share a store with it. */
export function threadTime(others: TimeOfOthers): SteadyTime {
  return steadyTime(clocks, isDateFaked, others);
}

/** How often this process has seen the wall clock step. */
export const clockSteps: () => number = processTime.steps;
