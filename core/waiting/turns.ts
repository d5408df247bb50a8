/*
 * Work that is shared out over turns of the event loop, so that thousands of callers that leave, are
 * refused or are failed at one instant do not hold up the rest of the program.
 */

import { afterRealTime } from "../clock.ts";

/** The most callers that leave a queue, or are admitted to one key, in one turn of the event loop. */
export const MAX_PER_TURN = 250;
/** How many may leave before it is worth a timer to learn when the turn is over. */
const FREE = 32;

let used = 0;
let isTimed = false;
const later: (() => void)[] = [];

/** Runs work in this turn, or in a later turn if this turn has done its share. */
export function inTurn(work: () => void): void {
  if (used >= MAX_PER_TURN) return void later.push(work);
  used++;
  work();
  if (used >= FREE) nextTurn();
}

/** The same for work that a caller waits for. */
export function turn(): Promise<void> {
  return new Promise((resolve) => inTurn(resolve));
}

function nextTurn(): void {
  if (isTimed) return;
  isTimed = true;
  // The real event loop is what must go on, whatever clock the callers wait by.
  afterRealTime(0, () => {
    isTimed = false;
    used = 0;
    for (const work of later.splice(0, MAX_PER_TURN)) inTurn(work);
  });
}
