import { setImmediate } from "../own_timers.ts";
import type { Answer } from "../stepping/call.ts";
import type { LockedCall } from "./transact_calls.ts";

/** The most calls of a transaction. It is bounded because other processes wait for its end. */
const MOST_CALLS = 1_000;

/** The calls of a turn of the event loop, which share transactions. */
export interface TurnQueue {
  /** Keeps a call for the end of the turn; `undefined` if so many wait that it must be refused. */
  push(call: LockedCall): Promise<Answer> | undefined;
  /** Commits all calls, and answers them. */
  flush(): void;
}

/** A call whose caller waits for the turn to end. */
interface Waiting {
  readonly call: LockedCall;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** Makes a queue of at most so many calls. */
export function turnQueue(
  most: number,
  commit: (calls: readonly LockedCall[]) => void,
): TurnQueue {
  let queue: Waiting[] = [];

  function flush(): void {
    const waiting = queue;
    queue = [];
    for (let start = 0; start < waiting.length; start += MOST_CALLS) {
      const turn = waiting.slice(start, start + MOST_CALLS);
      commit(turn.map(({ call }) => call));
      for (const { call, resolve, reject } of turn) {
        if (call.failure === undefined) resolve(call.answer);
        else reject(call.failure);
      }
    }
  }

  return {
    push(call) {
      if (queue.length >= most) return undefined;
      return new Promise((resolve, reject) => {
        if (queue.push({ call, resolve, reject }) === 1) setImmediate(flush);
      });
    },
    flush,
  };
}
