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

import { type Batch, type CommitCallbacks, decideBatch, rootCellOf } from "../batches/batch.ts";
import { type Cell, isReplaced, loadCell, rememberCell, rootOf } from "../batches/cell.ts";
import type { Command } from "../clients/connection.ts";
import type { Job } from "../batches/job.ts";
import type { NodeConnection } from "../connections/reconnector.ts";
import { countedRoundTrip, hasReplies } from "../connections/round_trip.ts";
import { timeOf } from "../connections/server_clock.ts";
import type { StoreContext } from "../store_context.ts";
import { connectionLost, failureOfReply, firstError } from "../failures/batch_failure.ts";

/** Runs a batch as one transaction; calls that need no other keys may join it until it is loaded. */
export async function watchCommit(
  node: NodeConnection,
  batch: Batch,
  callbacks: CommitCallbacks,
  context: StoreContext,
): Promise<void> {
  const commands = loadCommands(node, batch, context);
  node.watching = true;
  const replies = await countedRoundTrip(node, commands, context);
  callbacks.onLoaded();
  if (!hasReplies(replies)) return callbacks.fail(batch.jobs, replies);
  const refusal = firstError(replies);
  if (refusal !== undefined) {
    return callbacks.fail(batch.jobs, { ...failureOfReply(refusal), applied: "no" });
  }

  const cells = [...batch.cells.values()];
  const now = load(cells, replies, context);
  const decided = decideBatch(batch, now, context.counters);
  const changes = cells.filter(isReplaced);
  const [waiting, settled] = divide(decided, changes, cells);
  callbacks.answer(settled);
  if (changes.length > 0) {
    await commit(node, changes, waiting, batch.asking, callbacks, context);
  }
}

/** Watches and reads; a node that a slot is being moved to wants an ASKING before each. */
function loadCommands(
  { watching }: NodeConnection,
  { cells, asking }: Batch,
  { useServerTime }: StoreContext,
): Command[] {
  const keys = [...cells.keys()];
  const ask: readonly Command[] = asking ? [["ASKING"]] : [];
  return [
    ...(watching ? [["UNWATCH"]] : []),
    ...ask,
    ["WATCH", ...keys],
    ...ask,
    ["MGET", ...keys],
    ...(useServerTime ? [["TIME"]] : []),
  ];
}

/** Puts what was read into the cells; returns the instant to decide at. */
function load(
  cells: readonly Cell[],
  replies: readonly unknown[],
  { useServerTime, values }: StoreContext,
): number {
  const texts = replies.at(useServerTime ? -2 : -1) as readonly (string | null)[];
  for (const cell of cells) {
    loadCell(cell, texts[cell.index] ?? undefined, values.get(cell.key));
  }
  return useServerTime ? Math.floor(timeOf(replies.at(-1))) : Date.now();
}

/** The calls whose answers depend on the commit, and the others. */
function divide(
  decided: readonly Job[],
  changes: readonly Cell[],
  cells: readonly Cell[],
): readonly [waiting: readonly Job[], settled: readonly Job[]] {
  if (changes.length === 0) return [[], decided];
  if (changes.length === cells.length) return [decided, []];
  const changed = new Set(changes.map(rootOf));
  const waiting: Job[] = [];
  const settled: Job[] = [];
  for (const job of decided) {
    (changed.has(rootCellOf(job)) ? waiting : settled).push(job);
  }
  return [waiting, settled];
}

/** Writes what changed, and answers the calls that depend on it. */
async function commit(
  node: NodeConnection,
  changes: readonly Cell[],
  waiting: readonly Job[],
  asking: boolean,
  { answer, tryAgain, fail }: CommitCallbacks,
  context: StoreContext,
): Promise<void> {
  if (!node.connection.open) return fail(waiting, connectionLost());
  const commands: Command[] = asking ? [["ASKING"], ["MULTI"]] : [["MULTI"]];
  for (const cell of changes) commands.push(commandOf(cell));
  commands.push(["EXEC"]);
  const replies = await countedRoundTrip(node, commands, context);
  if (!hasReplies(replies)) return fail(waiting, { ...replies, applied: "unknown" });
  node.watching = false;

  const result = replies.at(-1);
  if (result === null) return tryAgain(waiting);
  // EXECABORT says less than the reply that caused it.
  if (result instanceof Error) {
    return fail(waiting, { ...failureOfReply(firstError(replies)!), applied: "no" });
  }
  const error = firstError(result as readonly unknown[]);
  if (error !== undefined) return fail(waiting, { kind: "rejected", applied: "unknown", error });
  for (const cell of changes) rememberCell(cell, context.values);
  answer(waiting);
}

/** The command that replaces a cell's value. */
function commandOf({ key, next, lifetime }: Cell): Command {
  if (next === undefined) return ["DEL", key];
  return lifetime === 0
    ? ["SET", key, next, "KEEPTTL"]
    : ["SET", key, next, "PX", String(lifetime)];
}
