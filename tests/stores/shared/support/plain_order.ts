/*
 * Plain accesses of two threads to one array, as a call makes them on x86: what is written first is
 * never seen later, and a word is read again after a write at an index that nobody can foresee.
 */

/** Where the writer puts its number first, and where it does next; whether it is there; whether it stops. */
const FIRST = 0;
const NEXT = 1_024;
const BEGUN = 2_048;
const STOPPED = 3_072;
/** Minutes of turns: a thread may take seconds to start on a busy machine. */
const MAX_TURNS = 2 ** 36;

/** Writes pairs of rising numbers by plain stores, until told to stop. */
export function writePairs(ints: Int32Array): void {
  ints[BEGUN] = 1;
  for (let number = 1; Atomics.load(ints, STOPPED) === 0; number = (number + 1) | 0) {
    for (let place = 0; place < 64; place++) {
      ints[FIRST + place] = number;
      ints[NEXT + place] = number;
    }
  }
}

/** Waits for the writer by plain reads, each after a plain write; whether it came to see it. */
export function waitPlainly(ints: Int32Array): boolean {
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    if (ints[BEGUN] !== 0) return true;
    ints[BEGUN + 1 + (turn & 511)] = turn;
  }
  return false;
}

/** How many of so many pairs, read the other way round, had the second number without the first. */
export function sawOutOfOrder(ints: Int32Array, reads: number): number {
  let count = 0;
  for (let read = 0; read < reads; read++) {
    const place = read & 63;
    const next = ints[NEXT + place]!;
    const first = ints[FIRST + place]!;
    // Their difference, as numbers run round.
    if (((first - next) | 0) < 0) count++;
  }
  return count;
}
