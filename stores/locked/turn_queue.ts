import type { Job } from "../optimistic/job.ts";
import { setImmediate } from "../own_timers.ts";

/** The most calls of a transaction. It is bounded because other processes wait for its end. */
const MOST_CALLS = 1_000;

/** The calls of a turn of the event loop, which share transactions. */
export interface TurnQueue {
  /** Keeps a call for the end of the turn; false if so many wait that it must be refused. */
  push(job: Job): boolean;
  /** Takes all calls, and commits them. */
  flush(): void;
}

/** Makes a queue of at most so many calls. */
export function turnQueue(most: number, commit: (jobs: readonly Job[]) => void): TurnQueue {
  let queue: Job[] = [];

  function flush(): void {
    const jobs = queue;
    queue = [];
    for (let start = 0; start < jobs.length; start += MOST_CALLS) {
      commit(jobs.length <= MOST_CALLS ? jobs : jobs.slice(start, start + MOST_CALLS));
    }
  }

  return {
    push(job) {
      if (queue.length >= most) return false;
      if (queue.push(job) === 1) setImmediate(flush);
      return true;
    },
    flush,
  };
}
