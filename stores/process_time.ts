/*
 * The time of this process, which all of its stores share. It is steady, unless a test has replaced
 * `Date`. Then the stores follow the test's clock wherever it goes.
 */

import { type SteadyTime, steadyTime, type TimeOfOthers } from "../core/steady_time.ts";

const { now: dateNow } = Date;
const clocks = { wall: () => Date.now(), monotonic: () => performance.now() };
const isOtherClock = () => Date.now !== dateNow;

/** Milliseconds since the Unix epoch. They go on when the wall clock is set back. */
export const processTime: SteadyTime = steadyTime(clocks, isOtherClock);

/** The time of this thread, never behind the time of other threads that share a store with it. */
export function threadTime(others: TimeOfOthers): SteadyTime {
  return steadyTime(clocks, isOtherClock, others);
}

/** How often this process has seen the wall clock step. */
export const clockSteps: () => number = processTime.steps;
