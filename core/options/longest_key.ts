/**
 * The most characters of a key that is held in memory outside of the store. Keys may come from
 * attackers, and so many keys are held that the length of each needs a bound.
 */
export const LONGEST_KEY = 1_024;
