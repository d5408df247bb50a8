/*
 * Plain accesses of two threads to one array, in the three orders that a call relies on where reads
 * and writes are plain. Each is tried by two threads that run the same rounds, in code that is hot
 * enough for an engine's best compiler:
 *
 * - a read after a compare-and-swap: of two threads that each swap their own word and then read the
 *   other's, one at least sees the other's swap;
 * - a write after a read: a thread that reads a word and then writes another one never reads what was
 *   written in answer to its write;
 * - a read that is repeated after a write at an index that nobody can foresee is made again.
 *
 * Two reads with nothing between them are in no such order: V8 and JavaScriptCore make the first of
 * them an operand of an instruction after the second.
 */

/** Which words the two threads write; each alone on its cache line. */
const OWN = [0, 256] as const;
const ANSWER = 512;
const ASKED = 768;
const BEGUN = 1_024;
const WORDS = 2_048;

/** Turns of a thread that waits: another may take seconds to start on a busy machine. */
const MAX_TURNS = 2 ** 36;

/** The memory of both threads. */
export interface Pair {
  readonly ints: Int32Array;
  /** For each thread and round, the round in which it saw the other. */
  readonly seen: readonly [Int32Array, Int32Array];
}

/** Makes the memory of two threads for that many rounds. */
export function makePair(rounds: number): Pair {
  const words = (length: number) => new Int32Array(new SharedArrayBuffer(4 * length));
  return { ints: words(WORDS), seen: [words(rounds + 1), words(rounds + 1)] };
}

/** In each round, swaps the thread's own word, and then reads the other thread's word plainly. */
export function swapAndRead({ ints, seen }: Pair, thread: 0 | 1): void {
  const [own, other] = [OWN[thread], OWN[1 - thread]!];
  const into = seen[thread];
  for (let round = 1; round < into.length; round++) {
    Atomics.compareExchange(ints, own, round - 1, round);
    into[round] = ints[other]!;
  }
}

/** How many rounds of one thread and of the other both came before each other. */
export function missedEachOther({ seen: [ofFirst, ofSecond] }: Pair): number {
  let count = 0;
  for (let round = 1; round < ofFirst.length; round++) {
    const unseen = ofFirst[round]! + 1;
    if (unseen < ofSecond.length && ofSecond[unseen]! < round) count++;
  }
  return count;
}

/**
 * Reads, then writes plainly, in each round; how often a read had the answer to the write after it.
 */
export function readAndWrite({ ints, seen: [{ length: rounds }] }: Pair): number {
  let count = 0;
  for (let round = 1; round < rounds; round++) {
    const answer = ints[ANSWER]!;
    ints[ASKED] = round;
    if (((answer - round) | 0) >= 0) count++;
  }
  return count;
}

/** Answers the writes of `readAndWrite`, as soon as it sees them. */
export function answerWrites({ ints, seen: [{ length: rounds }] }: Pair): void {
  for (let asked = 0; asked < rounds - 1;) {
    asked = Atomics.load(ints, ASKED);
    Atomics.store(ints, ANSWER, asked);
  }
}

/** Says that this thread runs. */
export function begin({ ints }: Pair): void {
  ints[BEGUN] = 1;
}

/** Waits for the other thread by plain reads, each after a plain write; whether it came to see it. */
export function waitPlainly({ ints }: Pair): boolean {
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    if (ints[BEGUN] !== 0) return true;
    ints[BEGUN + 1 + (turn & 511)] = turn;
  }
  return false;
}
