import { type Batcher, batcher } from "../batches/batcher.ts";
import type { Dial } from "../clients/connection.ts";
import { circuitBreaker, untilProbe } from "../connections/circuit_breaker.ts";
import type { Commit } from "../commit/choose_commit.ts";
import { reconnector } from "../connections/reconnector.ts";
import type { StoreContext } from "../store_context.ts";
import { fnv1a } from "../../fnv1a.ts";
import type { Router } from "./router.ts";

/**
 * Brings every call to one server, by one connection or several side by side, each with batches of
 * its own: while the server works on one batch, the process prepares another. A key always has the
 * same connection, so that connections do not race each other for it.
 */
export function singleRouter(dial: Dial, commit: Commit | "auto", context: StoreContext): Router {
  const breaker = circuitBreaker();
  const count = context.connections;
  const batchers = Array.from(
    { length: count },
    (): Batcher => batcher(reconnector(dial, commit, context, breaker)),
  );
  const only = batchers[0]!;
  return {
    slotOf: () => 0,
    masters: () => Promise.resolve([dial]),
    submit: count === 1 ? only.submit : (job) => batchers[indexOf(job.key, count)]!.submit(job),
    untilProbe: () => untilProbe(breaker),
    close() {
      for (const each of batchers) each.close();
    },
  };
}

/** Which batcher has a key; the upper bits are mixed in, as those of FNV-1a are the better ones. */
function indexOf(key: string, count: number): number {
  const hash = fnv1a(key);
  return ((hash ^ (hash >>> 15)) >>> 0) % count;
}
