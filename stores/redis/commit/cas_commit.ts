/*
 * Compare and set, for a whole batch in one round trip.
 *
 * The calls are stepped over the values last seen, which are guesses, at a time that is an estimate.
 * Then one script call per hash slot has the server compare each guess with what it holds. Where
 * they are the same, what was decided holds, and what changed is written; where not, the server
 * replies what it holds, and only the calls on those keys are stepped again. A refusal is compared
 * too: nobody is refused for what others have given back since.
 *
 * Keys of one call are committed as one: they form a group, as do all keys that calls tie together.
 */

import { type Batch, decideBatch, rootCellOf } from "../batches/batch.ts";
import {
  ALL_ANSWERED,
  type BatchOutcome,
  notApplied,
  type Watcher,
} from "../batches/batch_outcome.ts";
import { type Cell, loadCell, rememberCell, rootOf } from "../batches/cell.ts";
import { callScript } from "./call_script.ts";
import { COMPARE_AND_SET, COMPARE_AND_SET_SHA } from "./compare_and_set.ts";
import type { Command } from "../clients/connection.ts";
import { type Job, keysOf } from "../batches/job.ts";
import type { NodeConnection } from "../connections/node_connection.ts";
import { hasReplies } from "../connections/round_trip.ts";
import type { StoreContext } from "../store_context.ts";
import type { ValueCache } from "../batches/value_cache.ts";
import {
  type BatchFailure,
  connectionLost,
  failureOfReply,
  mayHaveWritten,
} from "../failures/batch_failure.ts";

/** What one script call compares: cells of one slot, those of a group side by side. */
interface Comparison {
  readonly cells: Cell[];
  /** How many cells each group has. */
  readonly sizes: number[];
}

/** Why a group was not committed: others changed its keys, or it failed. */
type Fate = "lost" | BatchFailure;

/** Runs a batch as one script call per slot. */
export async function casCommit(
  node: NodeConnection,
  batch: Batch,
  { answer }: Watcher,
  context: StoreContext,
): Promise<BatchOutcome> {
  const { clock, values, counters, useServerTime } = context;
  for (const cell of batch.cells.values()) {
    const guess = values.get(cell.key);
    loadCell(cell, guess?.text, guess);
  }
  const now = (useServerTime ? clock.now() : undefined) ?? Date.now();
  const decided = decideBatch(batch, now, counters);
  if (!node.connection.open) return notApplied(decided, connectionLost());
  const comparisons = comparisonsOf(batch.cells.values());
  // What comes after it on this connection finds these values, unless it loses the race.
  for (const cell of batch.cells.values()) {
    if (cell.changed || cell.state !== undefined) rememberCell(cell, values);
  }

  const calls = comparisons.map(commandOf);
  const replies = await callScript(node, COMPARE_AND_SET, calls, batch.asking, context);
  if (!hasReplies(replies)) return { ...ALL_ANSWERED, unknown: decided, failure: replies };
  const fates = new Map<Cell, Fate>();
  for (const [place, one] of comparisons.entries()) readReply(one, replies[place], fates, values);
  const canWatch = node.connection.isShared !== true;
  return outcomeOf(decided, batch.cells, fates, answer, canWatch, context);
}

/** What is to be compared, by slot; what must be alone by itself. */
function comparisonsOf(cells: Iterable<Cell>): readonly Comparison[] {
  const comparisons = new Map<number | string, Comparison>();
  const groups = new Map<Cell, Cell[]>();
  for (const cell of cells) {
    if (cell.tied) {
      const group = groups.get(rootOf(cell));
      if (group === undefined) groups.set(rootOf(cell), [cell]);
      else group.push(cell);
    } else add(cell.slot, [cell]);
  }
  for (const group of groups.values()) add(group[0]!.slot, group);
  return [...comparisons.values()];

  function add(slot: number, group: readonly Cell[]): void {
    const name = group[0]!.alone ?? slot;
    let comparison = comparisons.get(name);
    if (comparison === undefined) comparisons.set(name, comparison = { cells: [], sizes: [] });
    for (const cell of group) comparison.cells.push(cell);
    comparison.sizes.push(group.length);
  }
}

/** The script call: the number of keys, the keys, and what the script needs of each. */
function commandOf({ cells, sizes }: Comparison): Command {
  const count = cells.length;
  const command = new Array<string>(4 + 4 * count);
  command[0] = "EVALSHA";
  command[1] = COMPARE_AND_SET_SHA;
  command[2] = String(count);
  command[3 + count] = sizes.length === count ? "" : sizes.join(" ");
  let at = 4 + count;
  for (const [place, { key, held, next, lifetime }] of cells.entries()) {
    command[3 + place] = key;
    command[at++] = held ?? "";
    command[at++] = next ?? "";
    command[at++] = lifetime === 0 ? "" : String(lifetime);
  }
  return command;
}

/** Reads the script's reply: which groups were not as expected, and what they hold. */
function readReply(
  { cells, sizes }: Comparison,
  reply: unknown,
  fates: Map<Cell, Fate>,
  values: ValueCache,
): void {
  if (reply instanceof Error) {
    const failure = failureOfReply(reply);
    for (const cell of cells) fates.set(rootOf(cell), failure);
    return;
  }
  const failures = reply as readonly (string | number)[];
  let at = AFTER_TIME;
  let place = 0;
  for (let group = 0; group < sizes.length && at < failures.length; group++) {
    const end = place + sizes[group]!;
    if (failures[at] === group) {
      at++;
      fates.set(rootOf(cells[place]!), "lost");
      for (const { key } of cells.slice(place, end)) {
        values.set(key, String(failures[at++]) || undefined, undefined, 0);
      }
    }
    place = end;
  }
  if (at !== failures.length) {
    throw new Error("The reply of the script does not fit what was asked");
  }
}

/** Where the failures begin in the reply. */
const AFTER_TIME = 2;

/** Answers the calls whose groups were committed, and says what became of the others. */
function outcomeOf(
  decided: readonly Job[],
  cellOf: ReadonlyMap<string, Cell>,
  fates: ReadonlyMap<Cell, Fate>,
  answer: Watcher["answer"],
  canWatch: boolean,
  context: StoreContext,
): BatchOutcome {
  if (fates.size === 0) {
    answer(decided);
    return ALL_ANSWERED;
  }
  const committed: Job[] = [];
  const conflicted: Job[] = [];
  const unapplied: Job[] = [];
  const rejected = new Map<Error, Job[]>();
  let failure: BatchFailure | undefined;
  for (const job of decided) {
    const fate = fates.get(rootCellOf(job));
    if (fate === undefined) committed.push(job);
    else if (fate === "lost") {
      // A value that is no text comes back changed, and would never compare as equal.
      job.watched = canWatch && keysOf(job).some((key) => cellOf.get(key)!.unreadable);
      conflicted.push(job);
    } else if (mayHaveWritten(fate.error)) context.failJobs([job], "unknown", fate.error);
    else if (fate.kind === "rejected") {
      const jobs = rejected.get(fate.error);
      if (jobs === undefined) rejected.set(fate.error, [job]);
      else jobs.push(job);
    } else {
      unapplied.push(job);
      failure = fate;
    }
  }
  answer(committed);
  const rejections = [...rejected].map(([error, jobs]) => ({ error, jobs }));
  return { ...ALL_ANSWERED, conflicted, unapplied, failure, rejections };
}
