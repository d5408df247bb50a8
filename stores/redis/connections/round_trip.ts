/*
 * Round trips to Redis under a deadline of the store's own, because no timeout of node-redis
 * covers a command that has already been sent.
 */

import type { Command, Connection } from "../clients/connection.ts";
import {
  type CircuitBreaker,
  recordFailure,
  recordSuccess,
} from "../../optimistic/circuit_breaker.ts";
import { patientTimer } from "../../optimistic/patient_timer.ts";
import type { BatchFailure } from "../../optimistic/batch_failure.ts";
import { countRoundTrip } from "../statistics.ts";
import type { StoreContext } from "../store_context.ts";

/** The replies to commands sent in one write, or why there are none. */
export type RoundTrip = readonly unknown[] | BatchFailure;

/** Whether a round trip came back. */
export function hasReplies(trip: RoundTrip): trip is readonly unknown[] {
  return Array.isArray(trip);
}

/**
 * Sends commands in one write and waits for all replies, at most `deadline` milliseconds; or twice
 * as long where `onFirstSilence` deals with the first half. A later reply is dropped, and the caller
 * destroys a connection that was `silent`.
 */
function roundTrip(
  connection: Connection,
  commands: readonly Command[],
  deadline: number,
  onFirstSilence?: (error: Error) => void,
): Promise<RoundTrip> {
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

    connection.send(commands).then((replies) => {
      stop();
      resolve(replies);
    }, (error) => {
      stop();
      resolve({ kind: "lost", applied: "no", error });
    });
  });
}

/**
 * The replies to commands that are not a batch.
 *
 * @throws The reason why there are none.
 */
export async function repliesTo(
  connection: Connection,
  commands: readonly Command[],
  deadline: number,
): Promise<readonly unknown[]> {
  const trip = await roundTrip(connection, commands, deadline);
  if (!hasReplies(trip)) throw trip.error;
  return trip;
}

/** A connection, and what is known of its server. */
export interface RoundTripNode {
  readonly connection: Connection;
  readonly breaker: CircuitBreaker;
  /** Whether it has let a deadline pass, and not answered since. */
  silent: boolean;
}

/**
 * A round trip of a batch, which counts in the store's statistics. The first silence only opens the
 * breaker: a server that stalled for a moment answers after all, and what was sent is not lost.
 */
export async function countedRoundTrip(
  node: RoundTripNode,
  commands: readonly Command[],
  { deadline, counters }: StoreContext,
): Promise<RoundTrip> {
  const sent = performance.now();
  const trip = await roundTrip(node.connection, commands, deadline, (error) => {
    // Several batches under way are silent together.
    if (!node.silent) recordFailure(node.breaker, error);
    node.silent = true;
  });
  if (node.silent && hasReplies(trip)) {
    node.silent = false;
    recordSuccess(node.breaker);
  }
  countRoundTrip(counters, commands.length, (performance.now() - sent) / 1_000);
  return trip;
}
