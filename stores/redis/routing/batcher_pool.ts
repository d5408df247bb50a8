/*
 * Spreads the calls for one server over its connections. Usually there is one, because large
 * batches are cheapest; watched transactions in a cluster hold keys of one slot, so several run in
 * parallel.
 */

import { type Batcher, batcher } from "../../optimistic/batcher.ts";
import type { Outcomes } from "../../optimistic/handle_outcome.ts";
import type { Job } from "../../optimistic/job.ts";
import type { Dial } from "../clients/connection.ts";
import { type CircuitBreaker, circuitBreaker } from "../../optimistic/circuit_breaker.ts";
import { reconnector } from "../../optimistic/reconnector.ts";
import { connectNode } from "../connections/node_connection.ts";
import type { StoreContext } from "../store_context.ts";

/**
 * Makes the batchers of a server, which connect when they are first used.
 *
 * @param count How many batchers.
 * @param indexOf Which of them takes a call: the same one for all calls that may share a
 * transaction, so that connections do not race each other for a key. Without it, the one that
 * already serves the call's slot, otherwise an idle one.
 * @param moved Takes calls whose slot is on another node.
 */
export function batcherPool(
  dial: Dial,
  context: StoreContext,
  count: number,
  indexOf: ((job: Job) => number) | undefined,
  moved: Outcomes["moved"],
) {
  const breaker = circuitBreaker(context.reportOutage);
  const batchers = Array.from(
    { length: count },
    () => batcher(reconnector(connectNode(dial, context, breaker), context, breaker), moved),
  );
  const only = batchers[0]!;

  /** Spreads slots over the connections, because a transaction holds keys of one slot. */
  function batcherOf({ slot }: Job): Batcher {
    const least = batchers[slot % count]!;
    if (least.serves(slot)) return least;
    return batchers.find((each) => each.serves(slot)) ?? batchers.find((each) => each.isIdle()) ??
      least;
  }
  return {
    /** Shared by all connections. */
    breaker: breaker as CircuitBreaker,
    submit(job: Job): void {
      if (count === 1) only.submit(job);
      else if (indexOf === undefined) batcherOf(job).submit(job);
      else batchers[indexOf(job) % count]!.submit(job);
    },
    isIdle: (): boolean => batchers.every((each) => each.isIdle()),
    close(): void {
      for (const each of batchers) each.close();
    },
  };
}

/** A server, by one connection or several side by side, each with batches of its own. */
export type BatcherPool = ReturnType<typeof batcherPool>;
