/*
 * The optimistic transaction, for a whole batch at once.
 *
 *   WATCH k1 k2 ...          one round trip: from here on the server takes note of changes,
 *   MGET k1 k2 ...           and these are the values, of one instant
 *   TIME
 *       (every call is stepped, those that came in the meantime too)
 *   MULTI                    a second one, unless nothing changed:
 *   SET k1 v PX t ...        it is carried out as a whole if no watched key was touched,
 *   EXEC                     and otherwise not at all
 *
 * The connection lives once and is used by one batch at a time, so that WATCH and EXEC belong
 * together (see connection.ts). What a refused call read was true when it was read, so that it needs
 * no EXEC; but a call that was refused because of others in the batch is committed with them.
 */

import { type Batch, decideBatch, rootCellOf } from "../batches/batch.ts";
import {
  ALL_ANSWERED,
  type BatchOutcome,
  notApplied,
  type Watcher,
} from "../batches/batch_outcome.ts";
import { type Cell, isReplaced, loadCell, rootOf } from "../batches/cell.ts";
import type { Command } from "../clients/connection.ts";
import type { Job } from "../batches/job.ts";
import type { NodeConnection } from "../connections/node_connection.ts";
import { hasReplies, roundTrip } from "../connections/round_trip.ts";
import { timeOf } from "../connections/server_clock.ts";
import type { StoreContext } from "../store_context.ts";
import { connectionLost, failureOfReply, firstError } from "../failures/batch_failure.ts";

/** Runs a batch as one transaction; calls that need no other keys may join it until it is loaded. */
export async function watchCommit(
  node: NodeConnection,
  batch: Batch,
  { onLoaded, answer }: Watcher,
  context: StoreContext,
): Promise<BatchOutcome> {
  const { asking } = batch;
  const commands = loadCommands(
    [...batch.cells.keys()],
    node.watching,
    asking,
    context.useServerTime,
  );
  node.watching = true;
  context.counters.roundTrips++;
  const replies = await roundTrip(node.connection, commands, context.deadline);
  onLoaded();
  const { jobs } = batch;
  const cells = [...batch.cells.values()];
  if (!hasReplies(replies)) return notApplied(jobs, replies);
  const refusal = firstError(replies);
  if (refusal !== undefined) return notApplied(jobs, failureOfReply(refusal));

  const time = context.useServerTime ? replies.at(-1) : undefined;
  const values = replies.at(context.useServerTime ? -2 : -1) as readonly (string | null)[];
  for (const cell of cells) {
    loadCell(cell, values[cell.place] ?? undefined, context.values.get(cell.key));
  }
  const now = time === undefined ? Date.now() : Math.floor(timeOf(time));
  const stepped = decideBatch(batch, now, context.counters);
  const changes = cells.filter(isReplaced);
  const [waiting, settled] = divide(stepped, changes, cells);
  answer(settled);
  if (changes.length === 0) return ALL_ANSWERED;
  return await commit(node, changes, waiting, asking, answer, context);
}

/** Watches and reads; a node that a slot is being moved to wants an ASKING before each. */
function loadCommands(
  keys: readonly string[],
  stillWatching: boolean,
  asking: boolean,
  askTime: boolean,
): Command[] {
  const ask: readonly Command[] = asking ? [["ASKING"]] : [];
  return [
    ...(stillWatching ? [["UNWATCH"]] : []),
    ...ask,
    ["WATCH", ...keys],
    ...ask,
    ["MGET", ...keys],
    ...(askTime ? [["TIME"]] : []),
  ];
}

/** The calls whose answers depend on the commit, and the others. */
function divide(
  stepped: readonly Job[],
  changes: readonly Cell[],
  cells: readonly Cell[],
): readonly [waiting: readonly Job[], settled: readonly Job[]] {
  if (changes.length === 0) return [[], stepped];
  if (changes.length === cells.length) return [stepped, []];
  const changed = new Set(changes.map(rootOf));
  const waiting: Job[] = [];
  const settled: Job[] = [];
  for (const one of stepped) {
    (changed.has(rootCellOf(one)) ? waiting : settled).push(one);
  }
  return [waiting, settled];
}

async function commit(
  node: NodeConnection,
  changes: readonly Cell[],
  waiting: readonly Job[],
  asking: boolean,
  answer: Watcher["answer"],
  context: StoreContext,
): Promise<BatchOutcome> {
  if (!node.connection.open) return notApplied(waiting, connectionLost());
  const commands: Command[] = asking ? [["ASKING"], ["MULTI"]] : [["MULTI"]];
  for (const cell of changes) commands.push(commandOf(cell));
  commands.push(["EXEC"]);
  context.counters.roundTrips++;
  const replies = await roundTrip(node.connection, commands, context.deadline);
  if (!hasReplies(replies)) return { ...ALL_ANSWERED, unknown: waiting, failure: replies };
  node.watching = false;

  const result = replies.at(-1);
  if (result === null) return { ...ALL_ANSWERED, conflicted: waiting };
  // EXECABORT says less than the reply that caused it.
  if (result instanceof Error) return notApplied(waiting, failureOfReply(firstError(replies)!));
  const failure = firstError(result as readonly unknown[]);
  if (failure !== undefined) {
    return { ...ALL_ANSWERED, unknown: waiting, failure: { kind: "refused", error: failure } };
  }
  for (const { key, next, state, keptUntil } of changes) {
    context.values.set(key, next, state, keptUntil);
  }
  answer(waiting);
  return ALL_ANSWERED;
}

/** The command that replaces a cell's value. */
function commandOf({ key, next, lifetime }: Cell): Command {
  if (next === undefined) return ["DEL", key];
  return lifetime === 0
    ? ["SET", key, next, "KEEPTTL"]
    : ["SET", key, next, "PX", String(lifetime)];
}
