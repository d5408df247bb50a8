import { monotonicUnless } from "../core/clock.ts";
import { isDateFaked } from "../core/faked_date.ts";

/** Milliseconds that measure the age of answers of a store; fractions of them, too. */
export const agingTime: () => number = monotonicUnless(isDateFaked);
