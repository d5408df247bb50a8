/*
 * The end of a store: whoever waits on it is failed at once, and leaves no timer behind.
 */

import { StoreUnavailableError } from "../errors.ts";
import { remove } from "../linked_list.ts";
import { MAX_PER_TURN } from "./abort_groups.ts";
import {
  endSleep,
  fail,
  isWaiting,
  uncount,
  type Waiter,
  type WaitingQueue,
  type WaitingQueues,
  type WaitRequest,
} from "./waiting_queue.ts";

/** Fails all callers that wait on a closed store, and all callers that come later. */
export function endQueues(queues: WaitingQueues): void {
  queues.isClosed = true;
  for (const queue of [...queues.byName.values()]) {
    queue.isEnding = true;
    endSleep(queue);
    failAll(queue);
  }
}

/** Fails all callers of a queue, a bounded number in each turn of the event loop. */
function failAll(queue: WaitingQueue): void {
  let last: Waiter | undefined;
  for (let failures = 0; failures < MAX_PER_TURN; failures++) {
    const waiter = queue.waiting.first ?? queue.delayed.first;
    if (waiter === undefined) return queue.close();
    last = waiter;
    end(waiter);
  }
  last!.limiter.after(0, () => failAll(queue));
}

function end(waiter: Waiter): void {
  const { queue: { call } } = waiter;
  if (isWaiting(waiter)) {
    return fail(waiter, acquireClosedError(waiter, call?.waiter === waiter ? "unknown" : "no"));
  }
  waiter.wake();
  remove(waiter);
  uncount(waiter);
  waiter.reject(acquireClosedError(waiter, "unknown"));
}

/** The error of an `acquire` on a store that was closed. */
export function acquireClosedError(
  { key, cost }: Pick<WaitRequest, "key" | "cost">,
  applied: "no" | "unknown",
): StoreUnavailableError {
  const name = JSON.stringify(key);
  const message = `Cannot acquire ${cost} of ${name} as its store must be open: it was closed`;
  return new StoreUnavailableError(message, applied);
}
