import { batcher } from "../batches/batcher.ts";
import { circuitBreaker } from "../connections/circuit_breaker.ts";
import type { Dial } from "../clients/connection.ts";
import { batcherPool } from "./batcher_pool.ts";
import { reconnector } from "../connections/reconnector.ts";
import type { Commit } from "../connections/node_connection.ts";
import type { Router } from "./router.ts";
import type { StoreContext } from "../store_context.ts";

/** Brings every call to one server. */
export function singleRouter(dial: Dial, commit: Commit | "auto", parts: StoreContext): Router {
  const health = circuitBreaker();
  const past = { hasBeenUp: false };
  const { submit, close } = batcherPool(
    parts.connections,
    () => batcher(reconnector(dial, commit, parts, past), health, parts),
  );
  return {
    slotOf: () => 0,
    submit,
    untilProbe: () => health.untilProbe(),
    close,
  };
}
