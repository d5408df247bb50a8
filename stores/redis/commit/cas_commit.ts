/*
 * Compare and set, for a whole batch in one round trip.
 *
 * The calls are stepped over the values last seen, which are guesses, at a time that is an estimate.
 * Then one script call for each hash slot lets the server compare each guess with its value. If they
 * are the same, the decision holds, and a changed value is written. If not, the server replies with
 * its value, and only the calls on those keys are stepped again. A refusal is compared, too: nobody is
 * refused because of units that others have given back since.
 *
 * The keys of one call are committed as one: they form a group, and so do all keys that calls tie
 * together.
 */

import { type Batch, decideBatch } from "../../optimistic/batch.ts";
import type { CommitCallbacks } from "../../optimistic/driver.ts";
import { type Cell, rootOf } from "../../stepping/cell.ts";
import { groupsOf, loadGuesses, reportGroups } from "../../optimistic/commit_calls.ts";
import type { Job } from "../../optimistic/job.ts";
import type { StoreContext } from "../store_context.ts";
import { type CommitNode, timeOf } from "../connections/round_trip.ts";
import { claimLife, isClaimed, partClaims } from "./claims.ts";
import { COMPARE_AND_SET, COMPARE_AND_SET_SHA } from "./compare_and_set.ts";
import { AFTER_TIME, commitByScripts, type CommitScript, scriptCommand } from "./script_calls.ts";

/** Runs a batch as one script call for each hash slot. */
export function casCommit(
  node: CommitNode,
  batch: Batch,
  callbacks: CommitCallbacks,
  context: StoreContext,
): Promise<void> {
  const script = comparing(batch, NOBODY, callbacks, context);
  return commitByScripts(node, batch, callbacks, [script], context);
}

/**
 * How many milliseconds the estimated time of a decision may differ from the server's, unless a round
 * trip may take longer. A call is under way for less than this, and nobody would notice the difference.
 */
const MIN_OFF = 250;

const NOBODY: ReadonlySet<Job> = new Set();

/**
 * The guess for a value that is not valid text, and the character to which clients decode such bytes.
 */
const NO_TEXT = "\0";
const LOST_BYTES = "\ufffd";

/**
 * Decides the calls of a batch on guessed values, and makes the script call that compares the guesses.
 *
 * @param others Calls that are committed in another way. They share no key with these.
 */
export function comparing(
  batch: Batch,
  others: ReadonlySet<Job>,
  callbacks: CommitCallbacks,
  context: StoreContext,
): CommitScript {
  const { clock, values, counters, contended, useServerTime } = context;
  loadGuesses(batch.cells.all, values);
  const estimate = useServerTime ? clock.now() : undefined;
  const now = estimate ?? Date.now();
  const mostOff = String(Math.max(MIN_OFF, context.longestDeadline));
  return {
    jobs: decideBatch(batch, { now, isShared: useServerTime }, counters, others),
    text: COMPARE_AND_SET,
    commandOf(call) {
      let sizes = "";
      if (call.cells.some(({ root }) => root !== undefined)) {
        const groups = groupsOf(call.cells);
        call.cells = groups.flat();
        sizes = groups.map(({ length }) => length).join(" ");
      }
      const command = scriptCommand(COMPARE_AND_SET_SHA, call.cells);
      const life = call.jobs.some(contended.mustClaim) ? String(claimLife(clock.roundTrip())) : "";
      command.push(sizes, context.owner, life, String(estimate ?? ""), mostOff);
      for (const cell of call.cells) {
        const { held = "", next = "", lifetime } = cell;
        command.push(held, next, lifetime === 0 ? "" : String(lifetime));
        // Later batches on this connection find these values, unless this one loses the race.
        if (cell.changed || cell.state !== undefined) values.remember(cell);
      }
      return command;
    },
    readReply({ jobs, cells }, reply) {
      if (reply.length === AFTER_TIME) return callbacks.answer(jobs);
      const { lost, claimed } = lostOf(cells, reply, context);
      reportGroups(jobs, lost, claimed, callbacks);
    },
  };
}

/**
 * Reads the reply: which groups of cells lost the race (each is named by its root cell), and which of
 * them another process has claimed. It also remembers the values that their keys hold now.
 */
function lostOf(
  cells: readonly Cell[],
  reply: readonly unknown[],
  { values, owner }: StoreContext,
): { readonly lost: ReadonlySet<Cell>; readonly claimed: ReadonlySet<Cell> } {
  const lost = new Set<Cell>();
  const claimed = new Set<Cell>();
  const now = timeOf(reply);
  let at = AFTER_TIME;
  for (const [index, group] of groupsOf(cells).entries()) {
    if (reply[at] !== index) continue;
    at++;
    const root = rootOf(group[0]!);
    lost.add(root);
    for (const { name } of group) {
      const { text, claims } = partClaims(String(reply[at++]) || undefined);
      values.set(name, text?.includes(LOST_BYTES) === true ? NO_TEXT : text, undefined, 0);
      if (isClaimed(claims, owner, now)) claimed.add(root);
    }
  }
  if (at !== reply.length) throw new Error("The reply of the script does not fit what was asked");
  return { lost, claimed };
}
