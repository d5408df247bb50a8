/*
 * The second half of waiting in a `leakyQueue`: the call is charged and has its place, and sleeps
 * out its delay. Whoever leaves now can give back the newest place only: if a place in the middle
 * were given back, the next call would be given the newest one, which is taken. One that is not the
 * newest stays, marked, until those behind it are gone.
 */

import {
  type DelayedCall,
  type QueueLimiter,
  type WaitingQueue,
  type WaitRequest,
  wakeHead,
} from "./waiting_queue.ts";
import { refundingNewest } from "./projection.ts";

/** Sleeps out the delay of an admitted call. */
export function waitForStart(
  queue: WaitingQueue,
  { limiter, key, signal }: WaitRequest,
  call: DelayedCall,
  delay: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let cancel = () => {};
    function start(): void {
      signal?.removeEventListener("abort", abort);
      // Those before it have started or left.
      queue.delayed.splice(0, queue.delayed.indexOf(call) + 1);
      resolve();
    }
    function abort(): void {
      cancel();
      // At once, not in a promise: a call that comes right after the abort may have the place.
      call.cancelled = true;
      refundCancelled(queue, limiter, key).finally(() => reject(signal!.reason));
    }
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    cancel = limiter.after(delay, start);
  });
}

/** Gives back the places of those who have left, from the newest on. */
async function refundCancelled(
  queue: WaitingQueue,
  { algorithm, run }: QueueLimiter,
  key: string,
): Promise<void> {
  try {
    while (queue.delayed.at(-1)?.cancelled === true) {
      const { freshAt, cost } = queue.delayed.pop()!;
      await run(key, refundingNewest(algorithm, freshAt), -cost);
    }
  } catch {
    // What could not be given back stays charged: the safe side.
  }
  wakeHead(queue);
}
