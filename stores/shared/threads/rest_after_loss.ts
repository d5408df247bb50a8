/*
 * The pause after a lost race. Threads on one key take its cache lines from each other, and on each
 * change of hands both wait for several lines: some 2 microseconds, in which one thread alone makes
 * twenty calls. So a thread that loses leaves the key to the faster one for a while. Two threads on one
 * hot key then take turns of a hundred calls. The pause begins short. It doubles while the thread loses
 * again within a few calls, and begins anew otherwise, so that keys that seldom meet stay fast. Chance
 * decides its length, so that two batches that abort each other do not do so again and again.
 */

import { field } from "../layout.ts";
import type { Thread } from "./thread.ts";

/** Turns of a pause, of 5 to 10 nanoseconds each: the bound of the first pause, and of all. */
const FIRST_TURNS = 16;
const MOST_TURNS = 2_048;
/** Calls within which a thread that loses again rests for longer; after a long pause, more of them. */
const SOON = 32;
/** A word of this thread alone. An engine leaves no atomic operation out, as it may an empty loop. */
const word = new Int32Array(1);

/** Leaves a key for a moment to the threads that were faster. */
export function restAfterLoss(thread: Thread): void {
  const { memory: { ints }, record, rest } = thread;
  const calls = ints[record + field.calls]!;
  const isSoon = ((calls - rest.calls) | 0) < Math.max(SOON, rest.turns >> 3);
  rest.turns = isSoon ? Math.min(MOST_TURNS, 2 * rest.turns) : FIRST_TURNS;
  rest.calls = calls;
  const turns = Math.random() * rest.turns;
  for (let turn = 0; turn < turns; turn++) Atomics.add(word, 0, 1);
}
