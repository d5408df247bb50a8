/*
 * Places for keys: the header counts those taken, and no more are taken than the capacity.
 *
 * A place belongs to a key, or to a thread that is about to fill a slot. By the intent of a home
 * (`insert.ts`) one thread at a time is about to put in a key of it. But whoever breaks an intent
 * cannot know whether its thread has a place by then. Until that thread notices, and gives the place
 * back, two may be taken for one key. So insertions that were broken off are counted until their
 * threads have noticed, in one word:
 *
 *   changes << 16 | insertions broken off
 *
 * A thread counts one before it breaks the intent; the other thread takes it from the count after it
 * gave its place back. So if the word is the same before and after all places are seen taken, and
 * counts none, each place had a key of its own: only then is a key evicted or refused.
 *
 * Otherwise the thread looks again, after a pause if that happens again and again. Nobody can tell a
 * thread that sleeps from one that has died: after `LOOKS`, this thread assumes the latter. It does
 * so at once from then on, as long as the count is no higher.
 */

import { capacityOf, header, type Memory } from "../layout.ts";
import { pause } from "../threads/pause.ts";

/** Looks for a place before the threads that may have one are assumed dead, and those without a pause. */
const LOOKS = 36;
const QUICK_LOOKS = 16;
/** Milliseconds that a thread pauses, so that another one can go on. */
const PAUSE = 1;
/** How a change of the word of broken insertions is counted. */
const CHANGE = 1 << 16;

/** The places of a store, as one thread takes them. */
export type Places = ReturnType<typeof openPlaces>;

/** The places of a store, for one thread. */
export function openPlaces(memory: Memory) {
  const { ints } = memory;
  // Looks one after another: while insertions were broken off, and while threads had all the places.
  let looksForBroken = 0;
  let looksForKeys = 0;
  // Whether to pause before the next one.
  let isPauseDue = false;
  // Insertions broken off whose threads are assumed dead.
  let abandoned = 0;

  /** Whether to look again, after so many looks. */
  function isPatient(looks: number): boolean {
    isPauseDue = looks > QUICK_LOOKS && looks < LOOKS;
    return looks < LOOKS;
  }

  return {
    /** Takes a place if one is free. */
    take(): boolean {
      const capacity = capacityOf(memory);
      for (;;) {
        const keys = Atomics.load(ints, header.keys);
        if (keys >= capacity) return false;
        if (Atomics.compareExchange(ints, header.keys, keys, keys + 1) === keys) {
          looksForBroken = looksForKeys = 0;
          return true;
        }
      }
    },
    giveBack(): void {
      Atomics.sub(ints, header.keys, 1);
    },
    /** Takes a place beyond the capacity: one of those taken is a dead thread's. */
    takeAbandoned(): void {
      Atomics.add(ints, header.keys, 1);
    },
    /** Whether all are taken, each for a key of its own; if not, the caller is to look again. */
    areTaken(): boolean {
      const word = Atomics.load(ints, header.brokenInsertions);
      if (Atomics.load(ints, header.keys) < capacityOf(memory)) return false;
      if (Atomics.load(ints, header.brokenInsertions) !== word) return false;
      const broken = word & (CHANGE - 1);
      if (broken > abandoned && isPatient(++looksForBroken)) return false;
      looksForBroken = 0;
      abandoned = broken;
      return true;
    },
    /** Whether to look again for a key that may go, while threads that put keys in have all places. */
    mayLookForKeys(): boolean {
      return isPatient(++looksForKeys);
    },
    /** Ends such looks. */
    endLooks(): void {
      looksForKeys = 0;
    },
    /** Lets other threads go on, if this one has looked often enough. */
    pauseIfDue(): void {
      if (isPauseDue) pause(PAUSE);
      isPauseDue = false;
    },
    /** Counts an insertion that is about to be broken off. */
    noteBroken(): void {
      Atomics.add(ints, header.brokenInsertions, CHANGE + 1);
    },
    /** Counts it no longer: its thread has no place for it, or it was not broken off after all. */
    noteSettled(): void {
      Atomics.add(ints, header.brokenInsertions, CHANGE - 1);
    },
  };
}
