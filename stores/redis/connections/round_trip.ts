/*
 * Round trips to Redis under a deadline of the store's own, because no timeout of node-redis
 * covers a command that has already been sent.
 */

import type { Command, Connection } from "../clients/connection.ts";
import { type AwaitedServer, replyWithin } from "../../optimistic/await_reply.ts";
import type { BatchFailure } from "../../optimistic/batch_failure.ts";
import { replyDeadline } from "../../optimistic/round_trips.ts";
import { countRoundTrip } from "../statistics.ts";
import type { StoreContext } from "../store_context.ts";
import { performance } from "../../own_timers.ts";

/** A connection, as commits see it, and the facts about its server. */
export interface CommitNode extends AwaitedServer {
  readonly connection: Connection;
  /** Whether keys of an earlier batch are still watched on it. */
  watching: boolean;
}

/** The replies to commands sent in one write, or the failure. */
export type RoundTrip = readonly unknown[] | BatchFailure;

/** Whether a round trip came back. */
export function hasReplies(trip: RoundTrip): trip is readonly unknown[] {
  return Array.isArray(trip);
}

/**
 * The replies to commands that are not a batch.
 *
 * @throws The error of the failure.
 */
export async function repliesTo(
  connection: Connection,
  commands: readonly Command[],
  deadline: number,
): Promise<readonly unknown[]> {
  const trip = await replyWithin(connection.send(commands), deadline, lost);
  if (!hasReplies(trip)) throw trip.error;
  return trip;
}

/**
 * A round trip of a batch, which counts in the store's statistics.
 *
 * @param timeIn Finds the server's time in the replies.
 */
export async function countedRoundTrip(
  node: CommitNode,
  commands: readonly Command[],
  context: StoreContext,
  timeIn?: (replies: readonly unknown[]) => unknown,
): Promise<RoundTrip> {
  const { counters, clock } = context;
  const deadline = replyDeadline(node.breaker.trips, context);
  const sent = performance.now();
  const trip = await replyWithin(node.connection.send(commands), deadline, lost, node);
  const received = performance.now();
  countRoundTrip(counters, commands.length, (received - sent) / 1_000);
  const time = hasReplies(trip) ? timeIn?.(trip) : undefined;
  if (Array.isArray(time)) clock.sample(timeOf(time), sent, received);
  return trip;
}

/** The milliseconds of a reply to TIME: seconds and microseconds. */
export function timeOf(reply: unknown): number {
  const [seconds, microseconds] = reply as readonly unknown[];
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}

function lost(error: unknown): BatchFailure {
  return { kind: "lost", applied: "no", error: error as Error };
}
