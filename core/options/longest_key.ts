/**
 * The most characters of a key of which something is held beside the store. Keys may come from
 * attackers, and so many of them are held that their text must have a bound.
 */
export const LONGEST_KEY = 1_024;
