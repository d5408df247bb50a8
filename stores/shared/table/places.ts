/*
 * Places: a store has as many as its capacity, and a thread takes one before it fills a slot with a
 * new key. The header counts the places that are taken.
 *
 * The intent of a home (`insert.ts`) lets one thread at a time insert a key of that home, so a key
 * needs one place. But a thread that breaks an intent cannot know whether the other thread has
 * taken a place by then. Until the other thread notices, and gives the place back, two places may
 * be taken for one key. So one word counts the broken insertions that their threads have not yet
 * noticed:
 *
 *   changes of the word << 16 | broken insertions
 *
 * A thread raises the count before it breaks an intent. The other thread lowers it after it has
 * given its place back. So if the count is 0, and the word is the same before and after all places
 * are seen taken, each place has a key of its own. Only then is a key evicted or refused.
 *
 * Otherwise the thread looks again, and pauses if that goes on. Nobody can tell a thread that
 * sleeps from one that has died. After `LOOKS` looks, this thread assumes that the broken
 * insertions belong to dead threads. From then on it assumes so at once, as long as the count is no
 * higher.
 */

import { capacityOf, header, type Memory } from "../layout.ts";
import { pause } from "../threads/pause.ts";

/**
 * Looks before this thread assumes that the threads of broken insertions are dead, and how many of
 * these looks it takes without a pause.
 */
const LOOKS = 36;
const QUICK_LOOKS = 16;
/** Milliseconds that a thread pauses, so that another one can go on. */
const PAUSE = 1;
/** One change of the word of broken insertions. */
const CHANGE = 1 << 16;

/** The places of a store, as one thread takes them. */
export type Places = ReturnType<typeof openPlaces>;

/** The places of a store, for one thread. */
export function openPlaces(memory: Memory) {
  const { ints } = memory;
  // Looks in a row: while there were broken insertions, and while threads held all the places.
  let looksForBroken = 0;
  let looksForKeys = 0;
  // Whether to pause before the next look.
  let isPauseDue = false;
  // Broken insertions whose threads are assumed dead.
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
    /** Takes a place beyond the capacity, because a dead thread holds one of the places. */
    takeAbandoned(): void {
      Atomics.add(ints, header.keys, 1);
    },
    /**
     * Whether all places are taken, each for a key of its own; if not, the caller is to look again.
     */
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
    /** Whether to look again for a key that may go, while inserting threads hold all the places. */
    mayLookForKeys(): boolean {
      return isPatient(++looksForKeys);
    },
    /** Begins the count of these looks anew. */
    endLooks(): void {
      looksForKeys = 0;
    },
    /** Lets other threads go on, if this one has looked often enough. */
    pauseIfDue(): void {
      if (isPauseDue) pause(PAUSE);
      isPauseDue = false;
    },
    /** Counts an insertion that this thread is about to break. */
    noteBroken(): void {
      Atomics.add(ints, header.brokenInsertions, CHANGE + 1);
    },
    /**
     * Lowers the count: the thread of the insertion has given its place back, or the insertion was
     * not broken after all.
     */
    noteSettled(): void {
      Atomics.add(ints, header.brokenInsertions, CHANGE - 1);
    },
  };
}
