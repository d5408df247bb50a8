/*
 * Waits for a server under a deadline of the store's own, because few clients have a timeout for
 * commands that are already sent.
 */

import type { BatchFailure } from "./batch_failure.ts";
import { type CircuitBreaker, recordFailure, recordSuccess } from "./circuit_breaker.ts";
import { patientTimer } from "./patient_timer.ts";

/** A server whose replies are awaited. */
export interface AwaitedServer {
  readonly breaker: CircuitBreaker;
  /** Whether it has missed a deadline, and not answered since. */
  silent: boolean;
}

/**
 * Waits for a reply for at most `deadline` milliseconds, or for twice as long if `onFirstSilence`
 * handles the end of the first half. A later reply is dropped.
 *
 * @param failureOf Turns the rejection of the reply into an error.
 * @returns The reply, or the reason why there is none.
 */
export function replyWithin<Reply>(
  reply: Promise<Reply>,
  deadline: number,
  failureOf: (error: unknown) => BatchFailure,
  onFirstSilence?: (error: Error) => void,
): Promise<Reply | BatchFailure> {
  return new Promise((resolve) => {
    let waited = 0;
    let stop = patientTimer(deadline, onDeadline);

    function onDeadline(): void {
      waited += deadline;
      const error = new Error(`No reply within ${waited} ms`);
      if (waited > deadline || onFirstSilence === undefined) {
        return resolve({ kind: "silent", applied: "no", error });
      }
      stop = patientTimer(deadline, onDeadline);
      onFirstSilence(error);
    }

    reply.then((value) => {
      stop();
      resolve(value);
    }, (error) => {
      stop();
      resolve(failureOf(error));
    });
  });
}

/**
 * Waits for the reply to a batch. The first silence only opens the breaker, because a server that
 * stalls for a moment still answers, and the batch is not lost.
 *
 * @param isReply Tells a reply from a failure.
 */
export async function awaitReply<Reply>(
  server: AwaitedServer,
  reply: Promise<Reply>,
  deadline: number,
  failureOf: (error: unknown) => BatchFailure,
  isReply: (came: Reply | BatchFailure) => came is Reply,
): Promise<Reply | BatchFailure> {
  const came = await replyWithin(reply, deadline, failureOf, (error) => {
    // One silence of the server is a silence for every batch under way.
    if (!server.silent) recordFailure(server.breaker, error);
    server.silent = true;
  });
  if (server.silent && isReply(came)) {
    server.silent = false;
    recordSuccess(server.breaker);
  }
  return came;
}
