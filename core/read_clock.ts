import type { Clock } from "./clock.ts";
import { printedOnce } from "./guarded.ts";
import { checkNow } from "./options/checks.ts";

const print = printedOnce();

/**
 * Reads a limiter's clock, in whole milliseconds. By a clock that counts seconds, units come back a
 * thousand times too late: an instant that is that of the wall clock in seconds, within two days, is
 * warned of, once.
 *
 * @throws {RangeError} If it is not at an instant that reducers take.
 */
export function readClock(clock: Clock): number {
  const now = checkNow(clock());
  // The first comparison spares most calls the second.
  if (now < 1e10 && Math.abs(1_000 * now / Date.now() - 1) < 1e-4) {
    print(`a clock says ${now}: it must count milliseconds, not seconds.`);
  }
  return now;
}
