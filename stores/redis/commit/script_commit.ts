/*
 * Lets the server run the state transitions of a whole batch, in one round trip.
 *
 * One script call for each hash slot takes the costs from the keys, and replies with the server's time
 * and the values before. On these values the same calls are decided here once more, by the same
 * reducers, for every field of their decisions. Nobody can come in between, so there are no conflicts,
 * and no values need to be remembered.
 */

import { type Batch, failJob } from "../../optimistic/batch.ts";
import type { CommitCallbacks } from "../../optimistic/driver.ts";
import type { Part } from "../../stepping/call.ts";
import { type Cell, encodeCell, loadCell } from "../../stepping/cell.ts";
import { cellsOf } from "../../stepping/cells.ts";
import { stepCalls } from "../../stepping/step_calls.ts";
import type { Job } from "../../optimistic/job.ts";
import type { ValueCache } from "../../optimistic/value_cache.ts";
import { type CommitNode, timeOf } from "../connections/round_trip.ts";
import { scriptArguments } from "../script/script_arguments.ts";
import { STATE_TRANSITIONS, STATE_TRANSITIONS_SHA } from "../script/state_transitions.ts";
import type { StoreContext } from "../store_context.ts";
import { casCommit, comparing } from "./cas_commit.ts";
import { AFTER_TIME, commitByScripts, type CommitScript, scriptCommand } from "./script_calls.ts";

/** Runs a batch as one script call per slot, and one more for calls that compare and set. */
export function scriptCommit(
  node: CommitNode,
  batch: Batch,
  callbacks: CommitCallbacks,
  context: StoreContext,
): Promise<void> {
  const others = comparingJobs(batch);
  if (others.size === batch.jobs.length) return casCommit(node, batch, callbacks, context);
  if (others.size === 0) {
    const script = running(batch, batch.jobs, callbacks, context);
    return commitByScripts(node, batch, callbacks, [script], context);
  }
  const jobs = batch.jobs.filter((job) => !others.has(job));
  const scripts = [
    comparing(batch, new Set(jobs), callbacks, context),
    running(batch, jobs, callbacks, context),
  ];
  return commitByScripts(node, batch, callbacks, scripts, context);
}

/**
 * The texts that the keys held: a list, or lines, in which an empty line is a key that held nothing.
 */
function heldTexts(reply: unknown): readonly (string | null)[] {
  if (typeof reply !== "string") return reply as readonly (string | null)[];
  return reply.split("\n").map((line) => line === "" ? null : line);
}

/**
 * Remembers the new values of keys that the cache knows. A call on such a key has compared and set,
 * and the next may do so again, such as an undo after calls that the script made.
 */
function rememberKnown(cells: readonly Cell[], now: number, values: ValueCache): void {
  for (const cell of cells) {
    if (values.get(cell.name) === undefined) continue;
    encodeCell(cell, now);
    values.remember(cell);
  }
}

/** The script that runs the state transitions of calls. */
function running(
  batch: Batch,
  jobs: readonly Job[],
  callbacks: CommitCallbacks,
  { counters, useServerTime, values }: StoreContext,
): CommitScript {
  const own = useServerTime ? -1 : Date.now();
  return {
    text: STATE_TRANSITIONS,
    jobs,
    commandOf: (call) => [
      ...scriptCommand(STATE_TRANSITIONS_SHA, call.cells),
      ...scriptArguments(call.jobs, batch.cells, call.cells.length, own),
    ],
    readReply(call, reply) {
      const held = heldTexts(reply[AFTER_TIME]);
      for (const [index, cell] of call.cells.entries()) {
        loadCell(cell, held[index] ?? undefined, undefined);
      }
      const time = {
        now: useServerTime ? Math.floor(timeOf(reply)) : own,
        isShared: useServerTime,
      };
      // Decide calls that were given up meanwhile as well, because the server has charged them.
      const stepped = stepCalls(call.jobs, batch.cells, time, counters, failJob);
      if (!values.isEmpty()) rememberKnown(call.cells, time.now, values);
      callbacks.answer(stepped);
    },
  };
}

/**
 * The calls of a batch that compare and set because the script cannot run them, and all calls that
 * share a key with one of these, because calls on a key are decided in their order.
 */
function comparingJobs({ jobs, cells }: Batch): ReadonlySet<Job> {
  const keys = new Set<Cell>();
  const comparing = new Set<Job>();
  for (let before = -1; before < comparing.size;) {
    before = comparing.size;
    for (const job of jobs) {
      if (canRun(job) && (keys.size === 0 || !cellsOf(job, cells).some((cell) => keys.has(cell)))) {
        continue;
      }
      comparing.add(job);
      for (const cell of cellsOf(job, cells)) keys.add(cell);
    }
  }
  return comparing;
}

/** Whether the script can run a call. */
function canRun({ bound, several }: Job): boolean {
  if (bound !== undefined) return bound.formula !== undefined;
  if (several === undefined) return true;
  const { parts } = several;
  return parts.every(({ bound, older }) => bound.formula !== undefined && older.length === 0) &&
    (parts.length === 1 || !parts.some(isCharge));
}

/** Whether a call is a charge. The script would count a charge that changes nothing as a refusal. */
function isCharge({ bound }: Part): boolean {
  return bound.formula?.[0] === "charge";
}
