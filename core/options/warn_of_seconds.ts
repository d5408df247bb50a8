/*
 * A period in seconds, by mistake: `period: 60` is 60 milliseconds here, and a minute in several
 * other libraries. Such a limit would admit a thousand times too much, and no one would notice.
 *
 * It is not refused, because such a period is valid, if rare. To avoid the warning, write "60ms".
 */

import { printedOnce } from "../guarded.ts";

/** Periods that are meant as seconds far more often than as milliseconds, from 100 on. */
const SECONDS: readonly number[] = [120, 300, 600, 900, 1_800, 3_600, 7_200, 43_200, 86_400];

/** Warns of a number that was probably meant as seconds, once in a process. */
export const warnOfSeconds: SecondsWarning = secondsWarning();

type SecondsWarning = (factory: string, period: unknown) => void;

/** Makes a warning that is printed once. */
export function secondsWarning(): SecondsWarning {
  const print = printedOnce();
  return function warn(factory, period) {
    if (typeof period !== "number" || !looksLikeSeconds(period)) return;
    print(
      `the period of ${factory} is ${period} milliseconds: write "${period}s" if seconds are meant, ` +
        `or "${period}ms" if not.`,
    );
  };
}

/** Whether a period without a unit was probably meant as seconds. */
export function looksLikeSeconds(period: number): boolean {
  return period < 100 || SECONDS.includes(period);
}
