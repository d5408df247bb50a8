/*
 * The next word of a slot: its version goes up with every change, so that no word comes back while
 * somebody still works on it.
 */

import type { Memory } from "../layout.ts";
import { isAnnounced } from "../threads/announcements.ts";
import type { Thread } from "../threads/thread.ts";

/** The word after `word`, with the version after its own. */
export function nextWord({ blockMask }: Memory, word: number): number {
  return (word + blockMask + 1) | 0;
}

/** The first word after `word` that names the same block and that nobody announces. */
export function raised(thread: Thread, word: number): number {
  let next = nextWord(thread.memory, word);
  while (next === 0 || isAnnounced(thread, next)) next = nextWord(thread.memory, next);
  return next;
}
