/*
 * The state transitions run by the server, for a whole batch in one round trip.
 *
 * One script call per hash slot takes the costs over what the keys hold, and replies the server's time
 * and what they held before. From that the same calls are decided here once more, by the same
 * reducers, for every field of their decisions. Nobody can come in between, so there are no conflicts,
 * and nothing is to be remembered of a key.
 */

import { type Batch, stepAll } from "../batches/batch.ts";
import {
  ALL_ANSWERED,
  type BatchOutcome,
  notApplied,
  type Rejection,
  type Watcher,
} from "../batches/batch_outcome.ts";
import { type Cell, loadCell } from "../batches/cell.ts";
import type { Job } from "../batches/job.ts";
import type { NodeConnection } from "../connections/node_connection.ts";
import { hasReplies } from "../connections/round_trip.ts";
import { timeOf } from "../connections/server_clock.ts";
import {
  type BatchFailure,
  connectionLost,
  failureOfReply,
  mayHaveWritten,
} from "../failures/batch_failure.ts";
import { programOf } from "../script/program.ts";
import { STATE_TRANSITIONS, STATE_TRANSITIONS_SHA } from "../script/state_transitions.ts";
import type { StoreContext } from "../store_context.ts";
import { callScript } from "./call_script.ts";

/** Where the reply has the texts that the keys held. */
const AFTER_TIME = 2;

/** Runs a batch as one script call per slot. */
export async function scriptCommit(
  node: NodeConnection,
  batch: Batch,
  { answer }: Watcher,
  context: StoreContext,
): Promise<BatchOutcome> {
  const { counters, useServerTime } = context;
  if (!node.connection.open) return notApplied(batch.jobs, connectionLost());
  const own = useServerTime ? -1 : Date.now();
  const groups = groupsOf(batch);
  const calls = groups.map(({ jobs, cells }) => [
    "EVALSHA",
    STATE_TRANSITIONS_SHA,
    String(cells.length),
    ...cells.map(({ key }) => key),
    ...programOf(jobs, batch.cells, cells.length, own),
  ]);
  const replies = await callScript(node, STATE_TRANSITIONS, calls, batch.asking, context);
  if (!hasReplies(replies)) return { ...ALL_ANSWERED, unknown: batch.jobs, failure: replies };

  const unapplied: Job[] = [];
  const rejections: Rejection[] = [];
  let failure: BatchFailure | undefined;
  for (const [place, { jobs, cells }] of groups.entries()) {
    const reply = replies[place];
    if (reply instanceof Error) {
      const { kind } = failureOfReply(reply);
      if (mayHaveWritten(reply)) context.failJobs(jobs, "unknown", reply);
      else if (kind === "rejected") rejections.push({ jobs, error: reply });
      else {
        failure = { kind, error: reply };
        unapplied.push(...jobs);
      }
    } else {
      const now = useServerTime ? Math.floor(timeOf(reply)) : own;
      const held = (reply as readonly unknown[])[AFTER_TIME] as readonly (string | null)[];
      for (const [place, cell] of cells.entries()) {
        loadCell(cell, held[place] ?? undefined, undefined);
      }
      // Those that were given up meanwhile as well: the server has charged them.
      answer(stepAll(jobs, batch.cells, now, counters));
    }
  }
  return { ...ALL_ANSWERED, unapplied, failure, rejections };
}

/** What one script call does: calls on keys of one slot, and their cells. */
interface Group {
  readonly jobs: Job[];
  readonly cells: Cell[];
}

/** The calls of each slot, and each that must be alone. */
function groupsOf({ jobs, cells }: Batch): readonly Group[] {
  const groups = new Map<number | string, Group>();
  for (const job of jobs) {
    const name = job.cell!.alone ?? job.slot;
    let group = groups.get(name);
    if (group === undefined) groups.set(name, group = { jobs: [], cells: [] });
    group.jobs.push(job);
    if (job.several === undefined) addCell(group, job.cell!);
    else for (const key of job.several.keys) addCell(group, cells.get(key)!);
  }
  return [...groups.values()];
}

function addCell({ cells }: Group, cell: Cell): void {
  if (cells[cell.place] === cell) return;
  cell.place = cells.length;
  cells.push(cell);
}
