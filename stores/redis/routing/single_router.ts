/*
 * The router for one server, and for clients and senders that find the nodes of a cluster
 * themselves.
 */

import type { Job } from "../../optimistic/job.ts";
import type { Dial } from "../clients/connection.ts";
import { untilProbe } from "../../optimistic/circuit_breaker.ts";
import type { StoreContext } from "../store_context.ts";
import { fnv1a } from "../../fnv1a.ts";
import { batcherPool } from "./batcher_pool.ts";
import type { Router } from "./router.ts";

/**
 * Brings every call to one server. A key always has the same connection.
 *
 * @param clusterHint The advice of an error if the server turns out to be a node of a cluster.
 */
export function singleRouter(
  dial: Dial,
  context: StoreContext,
  clusterHint: string,
): Router {
  const { connections = 1 } = context;
  const { breaker, submit, close } = batcherPool(dial, context, connections, hashOf, moved);

  function moved(jobs: readonly Job[], error: Error): void {
    context.failJobs(jobs, "no", new Error(`${error.message} (${clusterHint})`, { cause: error }));
  }

  return {
    slotOf: () => 0,
    hasSlots: false,
    masters: () => Promise.resolve([dial]),
    submit,
    untilProbe: () => untilProbe(breaker),
    close,
  };
}

/** Mixes in the upper bits, which are the better bits of FNV-1a. */
function hashOf({ key }: Job): number {
  const hash = fnv1a(key);
  return (hash ^ (hash >>> 15)) >>> 0;
}
