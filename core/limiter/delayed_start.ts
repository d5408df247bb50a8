/*
 * The second half of waiting in a `leakyQueue`: the call is charged and has its place, and sleeps
 * out its delay. Who gives up now can give back the newest place only: if a place in the middle were
 * given back, the next call would be given the newest one, which is taken. One that is not the
 * newest stays, marked, until those behind it are gone.
 */

import type { Decision } from "../decision.ts";
import {
  type DelayedCall,
  type QueueLimiter,
  type WaitingQueue,
  type WaitRequest,
  wakeHead,
} from "./waiting_queue.ts";
import { refundingNewest } from "./projection.ts";

/** Gives an admitted call its place among those that wait for their start, if it has to. */
export function delayCall(
  line: WaitingQueue,
  { delay }: Decision,
  freshAt: number,
  cost: number,
): DelayedCall | undefined {
  if (delay === 0) return undefined;
  const starter = { freshAt, cost, cancelled: false };
  line.delayed.push(starter);
  return starter;
}

/** Sleeps out the delay of an admitted call. */
export function waitForStart(
  line: WaitingQueue,
  { limiter, key, signal }: WaitRequest,
  starter: DelayedCall,
  delay: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let cancel = () => {};
    function start(): void {
      signal?.removeEventListener("abort", abort);
      // Those before it have started or given up.
      line.delayed.splice(0, line.delayed.indexOf(starter) + 1);
      resolve();
    }
    function abort(): void {
      cancel();
      starter.cancelled = true;
      refundCancelled(line, limiter, key).finally(() => reject(signal!.reason));
    }
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    cancel = limiter.after(delay, start);
  });
}

/** Gives back the places of those who have given up, from the newest on. */
async function refundCancelled(
  line: WaitingQueue,
  owner: QueueLimiter,
  key: string,
): Promise<void> {
  try {
    while (line.delayed.at(-1)?.cancelled === true) {
      const { freshAt, cost } = line.delayed.pop()!;
      await owner.run(key, refundingNewest(owner.algorithm, freshAt), -cost);
    }
  } catch {
    // What could not be given back stays charged: the safe side.
  }
  wakeHead(line);
}
