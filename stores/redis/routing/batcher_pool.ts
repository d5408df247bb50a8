import { type Batcher, batcher } from "../batches/batcher.ts";
import type { Outcomes } from "../batches/handle_outcome.ts";
import type { Job } from "../batches/job.ts";
import type { Dial } from "../clients/connection.ts";
import type { Commit } from "../commit/choose_commit.ts";
import { type CircuitBreaker, circuitBreaker } from "../connections/circuit_breaker.ts";
import { reconnector } from "../connections/reconnector.ts";
import type { StoreContext } from "../store_context.ts";

/** A server, by one connection or several side by side, each with batches of its own. */
export interface BatcherPool extends Omit<Batcher, "serves"> {
  /** One for all connections. */
  readonly breaker: CircuitBreaker;
}

/**
 * Makes the batchers of a server, which connect when they are first used.
 *
 * @param count How many.
 * @param indexOf Which of them takes a call: the same one for all calls that may share a transaction,
 * so that connections do not race each other for a key. Without it one that is idle, but for calls on
 * a slot that another one serves.
 * @param moved Takes calls whose slot is on another node.
 */
export function batcherPool(
  dial: Dial,
  commit: Commit | "auto",
  context: StoreContext,
  count: number,
  indexOf: ((job: Job) => number) | undefined,
  moved: Outcomes["moved"],
): BatcherPool {
  const breaker = circuitBreaker();
  const batchers = Array.from(
    { length: count },
    (): Batcher => batcher(reconnector(dial, commit, context, breaker), moved),
  );
  const only = batchers[0]!;
  /** Where each slot was served last. */
  const lastOf = new Map<number, Batcher>();

  /** A transaction holds keys of one slot, so as many slots as there are connections are under way. */
  function batcherOf({ slot }: Job): Batcher {
    const last = lastOf.get(slot) ?? batchers[slot % count]!;
    if (last.serves(slot) || last.isIdle()) return last;
    const idle = batchers.find((each) => each.isIdle()) ?? last;
    lastOf.set(slot, idle);
    return idle;
  }
  return {
    breaker,
    submit(job) {
      if (count === 1) only.submit(job);
      else if (indexOf === undefined) batcherOf(job).submit(job);
      else batchers[indexOf(job) % count]!.submit(job);
    },
    isIdle: () => batchers.every((each) => each.isIdle()),
    close() {
      for (const each of batchers) each.close();
    },
  };
}
