/**
 * The most characters of a key that is held in memory outside of the store. Keys may come from
 * attackers, and so many are held that their text must have a bound.
 */
export const LONGEST_KEY = 1_024;
