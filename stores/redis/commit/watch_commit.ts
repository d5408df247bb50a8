/*
 * One optimistic transaction for a whole batch, in two round trips:
 *
 *   APPEND k1 claim ...      only for keys for which calls have lost races: see claims.ts
 *   WATCH k1 k2 ...          from here on, the server notes changes of these keys
 *   MGET k1 k2 ...           their values, all of one instant
 *   TIME                     the instant at which the calls are decided
 *
 *   (here every call is stepped, including those that arrived during the round trip)
 *
 *   MULTI                    the second round trip, unless no value changes
 *   SET k1 v PX t ...        the new values
 *   EXEC                     all of them are written if no watched key has changed, otherwise none
 *
 * A connection serves one batch at a time and never reconnects, so its EXEC belongs to its WATCH (see
 * connection.ts). A call that the values refuse needs no EXEC, because the values were right when they
 * were read. A call that was refused because of other calls in the batch waits for their commit.
 */

import { type Batch, decideBatch } from "../../optimistic/batch.ts";
import { cellsOf } from "../../stepping/cells.ts";
import { rootCellOf } from "../../stepping/step_calls.ts";
import type { CommitCallbacks } from "../../optimistic/driver.ts";
import { type Cell, isReplaced, loadCell, rootOf } from "../../stepping/cell.ts";
import type { Command } from "../clients/connection.ts";
import type { Job } from "../../optimistic/job.ts";
import { claimLife, claimsOfOthers, claimText, isClaimed, partClaims } from "./claims.ts";
import {
  type CommitNode,
  countedRoundTrip,
  hasReplies,
  timeOf,
} from "../connections/round_trip.ts";
import type { StoreContext } from "../store_context.ts";
import { connectionLost } from "../../optimistic/batch_failure.ts";
import { failureOfReply, firstError } from "../failures/reply_failure.ts";

/**
 * Runs a batch as one transaction. Until its values have arrived, calls on its keys may join it.
 */
export async function watchCommit(
  node: CommitNode,
  batch: Batch,
  callbacks: CommitCallbacks,
  context: StoreContext,
): Promise<void> {
  const claiming = claimCommands(batch, context);
  const trip = await countedRoundTrip(
    node,
    [...claiming, ...loadCommands(node, batch)],
    context,
    (replies) => replies.at(-1),
  );
  node.watching = true;
  callbacks.onLoaded();
  if (!hasReplies(trip)) return callbacks.fail(batch.jobs, trip);
  // Ignore the reply to a claim: a claim that was not permitted changes nothing.
  const replies = trip.slice(claiming.length);
  const refusal = firstError(replies);
  if (refusal !== undefined) {
    return callbacks.fail(batch.jobs, { ...failureOfReply(refusal), applied: "no" });
  }

  const cells = batch.cells.all;
  const claims = new Map<Cell, string>();
  const now = load(cells, replies, claims, context);
  const claimed = claimedJobs(batch, claims, timeOf(replies.at(-1)), context.owner);
  callbacks.waitFor([...claimed]);
  const decided = decideBatch(
    batch,
    { now, isShared: context.useServerTime },
    context.counters,
    claimed,
  );
  // Only our own keys still have claims here: writing a key ends our claim on it.
  const changes = cells.filter((cell) => isReplaced(cell) || claims.has(cell));
  const [waiting, settled] = divide(decided, changes, cells);
  callbacks.answer(settled);
  if (changes.length > 0) {
    await commit(node, changes, claims, waiting, callbacks, context);
  }
}

/** The commands that claim the keys of calls which have lost too many races. */
function claimCommands(
  { jobs, cells }: Batch,
  { clock, owner, contended }: StoreContext,
): Command[] {
  const now = clock.now();
  if (now === undefined) return [];
  const until = now + claimLife(clock.roundTrip());
  const names = new Set<string>();
  for (const job of jobs) {
    if ((contended.claimedUntil.get(job) ?? 0) > now || !contended.mustClaim(job)) continue;
    contended.claimedUntil.set(job, until);
    for (const { name } of cellsOf(job, cells)) names.add(name);
  }
  return [...names].map((name) => ["APPEND", name, claimText(until, owner)]);
}

/**
 * The calls that must wait for other processes: calls on keys that others have claimed, and later
 * calls that share a key with them. It removes the claimed cells from `claims`. For each other cell it
 * leaves the claims of others, which must follow the value that is written.
 */
function claimedJobs(
  { jobs, cells }: Batch,
  claims: Map<Cell, string>,
  now: number,
  owner: string,
): ReadonlySet<Job> {
  const claimed = new Set<Cell>();
  for (const [cell, found] of claims) {
    if (isClaimed(found, owner, now)) {
      claimed.add(cell);
      claims.delete(cell);
    } else claims.set(cell, claimsOfOthers(found, owner, now));
  }
  const waiting = new Set<Job>();
  if (claimed.size === 0) return waiting;
  for (const job of jobs) {
    const own = cellsOf(job, cells);
    if (!own.some((cell) => claimed.has(cell))) continue;
    waiting.add(job);
    for (const cell of own) claimed.add(cell);
  }
  return waiting;
}

/** The commands that watch and read the batch's keys. */
function loadCommands({ watching }: CommitNode, { cells }: Batch): Command[] {
  const names = cells.all.map(({ name }) => name);
  return [
    ...(watching ? [["UNWATCH"]] : []),
    ["WATCH", ...names],
    ["MGET", ...names],
    ["TIME"],
  ];
}

/**
 * Puts the values into the cells, and their claims into `claims`. Returns the instant at which to
 * decide.
 */
function load(
  cells: readonly Cell[],
  replies: readonly unknown[],
  claims: Map<Cell, string>,
  { useServerTime, values }: StoreContext,
): number {
  const texts = replies.at(-2) as readonly (string | null)[];
  for (const cell of cells) {
    const value = partClaims(texts[cell.index] ?? undefined);
    loadCell(cell, value.text, values.get(cell.name));
    if (value.claims !== "") claims.set(cell, value.claims);
  }
  return useServerTime ? Math.floor(timeOf(replies.at(-1))) : Date.now();
}

/** Divides the calls into those whose answers depend on the commit, and the others. */
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

/** Writes the changed values, and answers the calls that depend on them. */
async function commit(
  node: CommitNode,
  changes: readonly Cell[],
  claims: ReadonlyMap<Cell, string>,
  waiting: readonly Job[],
  { answer, tryAgain, fail }: CommitCallbacks,
  context: StoreContext,
): Promise<void> {
  if (!node.connection.open) return fail(waiting, connectionLost());
  const commands: Command[] = [["MULTI"]];
  for (const cell of changes) commands.push(commandOf(cell, claims.get(cell) ?? ""));
  commands.push(["EXEC"]);
  const replies = await countedRoundTrip(node, commands, context);
  if (!hasReplies(replies)) return fail(waiting, { ...replies, applied: "unknown" });
  node.watching = false;

  const result = replies.at(-1);
  if (result === null) return tryAgain(waiting);
  // The reply that caused EXECABORT says more than EXECABORT itself.
  if (result instanceof Error) {
    return fail(waiting, { ...failureOfReply(firstError(replies)!), applied: "no" });
  }
  const error = firstError(result as readonly unknown[]);
  if (error !== undefined) return fail(waiting, { kind: "rejected", applied: "unknown", error });
  for (const cell of changes) context.values.remember(cell);
  answer(waiting);
}

/** The command that replaces a cell's value. */
function commandOf({ name, next = "", lifetime }: Cell, claims: string): Command {
  const value = next + claims;
  if (value === "") return ["DEL", name];
  return lifetime === 0
    ? ["SET", name, value, "KEEPTTL"]
    : ["SET", name, value, "PX", String(lifetime)];
}
