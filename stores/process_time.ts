/*
 * The time of this process, which all of its stores share. It is steady, unless somebody has put a
 * clock of their own in the place of `Date`, as tests do: that is followed wherever it goes.
 */

import { type SteadyTime, steadyTime } from "../core/steady_time.ts";

const { now: dateNow } = Date;
const clocks = { wall: () => Date.now(), monotonic: () => performance.now() };

/** Milliseconds since the Unix epoch; they go on where the wall clock is set back. */
export const processTime: SteadyTime = steadyTime(clocks, () => Date.now !== dateNow);

/** How often the wall clock was seen to step. */
export const clockSteps: () => number = processTime.steps;
