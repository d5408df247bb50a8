/*
 * Round trips to Redis under a deadline of the store's own, because no timeout of node-redis
 * covers a command that has already been sent.
 */

import type { Command, Connection } from "../clients/connection.ts";
import { patientTimer } from "./patient_timer.ts";
import type { BatchFailure } from "../failures/batch_failure.ts";
import { countRoundTrip } from "../statistics.ts";
import type { StoreContext } from "../store_context.ts";

/** The replies to commands sent in one write, or why there are none. */
export type RoundTrip = readonly unknown[] | BatchFailure;

/** Whether a round trip came back. */
export function hasReplies(trip: RoundTrip): trip is readonly unknown[] {
  return Array.isArray(trip);
}

/**
 * Sends commands in one write and waits for all replies, at most `deadline` milliseconds. A late
 * reply is dropped, and the caller destroys a connection that was `silent`.
 */
function roundTrip(
  connection: Connection,
  commands: readonly Command[],
  deadline: number,
): Promise<RoundTrip> {
  return new Promise((resolve) => {
    const stop = patientTimer(deadline, () => {
      resolve({
        kind: "silent",
        applied: "no",
        error: new Error(`No reply within ${deadline} ms`),
      });
    });
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

/** A round trip of a batch, which counts in the store's statistics. */
export async function countedRoundTrip(
  connection: Connection,
  commands: readonly Command[],
  { deadline, counters }: StoreContext,
): Promise<RoundTrip> {
  const sent = performance.now();
  const trip = await roundTrip(connection, commands, deadline);
  countRoundTrip(counters, commands.length, (performance.now() - sent) / 1_000);
  return trip;
}
