/*
 * Spreads the calls on one server over its connections. Usually there is one connection, because large
 * batches are cheapest. But a watched transaction in a cluster holds keys of one slot, so several of
 * them run in parallel.
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
 * @param count The number of batchers.
 * @param indexOf The index of the batcher for a call. It must be the same for all calls that may share
 * a transaction, so that connections do not race each other for a key. Without it, the batcher that
 * already serves the call's slot gets the call, otherwise an idle one.
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
    /** The breaker that all connections share. */
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

/** A server with one or several connections, each with batches of its own. */
export type BatcherPool = ReturnType<typeof batcherPool>;
