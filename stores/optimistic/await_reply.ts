/*
 * Waits for a server under a deadline of the store's own, because few clients have a timeout for
 * commands that are already sent.
 */

import type { BatchFailure } from "./batch_failure.ts";
import { type CircuitBreaker, recordFailure } from "./circuit_breaker.ts";
import { patientTimer } from "./patient_timer.ts";
import { learnRoundTrip } from "./round_trips.ts";
import { performance } from "../own_timers.ts";

/** A server whose replies are awaited. */
export interface AwaitedServer {
  readonly breaker: CircuitBreaker;
  /** Whether it has missed a deadline, and not answered since. */
  silent: boolean;
}

/**
 * Waits for a reply for at most `deadline` milliseconds. The first silence of a server only opens its
 * breaker, and its reply may take as long again, because a server that stalls for a moment still
 * answers, and the batch is not lost. A later reply is dropped.
 *
 * @param failureOf Turns the rejection of the reply into an error.
 * @param server The server, if the reply is that to a batch.
 * @returns The reply, or the failure.
 */
export function replyWithin<Reply>(
  reply: Promise<Reply>,
  deadline: number,
  failureOf: (error: unknown) => BatchFailure,
  server?: AwaitedServer,
): Promise<Reply | BatchFailure> {
  return new Promise((resolve) => {
    const sent = performance.now();
    let waited = 0;
    let stop = patientTimer(deadline, onDeadline);

    function onDeadline(): void {
      waited += deadline;
      const error = new Error(`No reply within ${waited} ms`);
      if (waited > deadline || server === undefined) {
        if (server !== undefined) learnRoundTrip(server.breaker.trips, waited);
        return resolve({ kind: "silent", applied: "no", error });
      }
      stop = patientTimer(deadline, onDeadline);
      // A server that is silent for one batch is silent for all batches under way: count it once.
      if (!server.silent) recordFailure(server.breaker, error);
      server.silent = true;
    }

    reply.then((value) => {
      stop();
      if (server !== undefined && waited <= deadline) {
        server.silent = false;
        learnRoundTrip(server.breaker.trips, performance.now() - sent);
      }
      resolve(value);
    }, (error) => {
      stop();
      resolve(failureOf(error));
    });
  });
}
