/*
 * The ids of permits: 53 random bits, so that no two holders ever have the same one, in any process.
 */

/**
 * How many ids are made at once, because a call of the runtime's generator costs as much as a
 * permit.
 */
const BATCH = 512;

let words: ReturnType<typeof emptyWords> | undefined;
let used = 0;

/** The id of a new permit: a random whole number from 1 to 2^53 - 1. */
export function newPermitId(): number {
  words ??= emptyWords();
  if (used === 0) crypto.getRandomValues(words);
  const high = words[used]! >>> 11;
  const low = words[used + 1]!;
  used = (used + 2) % words.length;
  return high * 2 ** 32 + low || 1;
}

/** A random fraction, from 0 to below 1. */
export function randomShare(): number {
  return newPermitId() / 2 ** 53;
}

/** Its type is inferred, because older versions of TypeScript have no array of a kind of buffer. */
function emptyWords() {
  return new Uint32Array(2 * BATCH);
}
