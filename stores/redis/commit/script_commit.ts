/*
 * The state transitions run by the server, for a whole batch in one round trip.
 *
 * One script call per hash slot takes the costs over what the keys hold, and replies the server's time
 * and what they held before. From that the same calls are decided here once more, by the same
 * reducers, for every field of their decisions. Nobody can come in between, so there are no conflicts,
 * and nothing is to be remembered of a key.
 */

import { type Batch, type CommitCallbacks, stepAll } from "../batches/batch.ts";
import { loadCell } from "../batches/cell.ts";
import type { NodeConnection } from "../connections/reconnector.ts";
import { timeOf } from "../connections/server_clock.ts";
import { scriptArguments } from "../script/script_arguments.ts";
import { STATE_TRANSITIONS, STATE_TRANSITIONS_SHA } from "../script/state_transitions.ts";
import type { StoreContext } from "../store_context.ts";
import { AFTER_TIME, commitByScript, scriptCommand } from "./script_calls.ts";

/** Runs a batch as one script call per slot. */
export function scriptCommit(
  node: NodeConnection,
  batch: Batch,
  callbacks: CommitCallbacks,
  context: StoreContext,
): Promise<void> {
  const { counters, useServerTime } = context;
  const own = useServerTime ? -1 : Date.now();
  return commitByScript(node, batch, batch.jobs, callbacks, {
    text: STATE_TRANSITIONS,
    commandOf: ({ jobs, cells }) => [
      ...scriptCommand(STATE_TRANSITIONS_SHA, cells),
      ...scriptArguments(jobs, batch.cells, cells.length, own),
    ],
    readReply({ jobs, cells }, reply) {
      const held = reply[AFTER_TIME] as readonly (string | null)[];
      for (const [index, cell] of cells.entries()) {
        loadCell(cell, held[index] ?? undefined, undefined);
      }
      const now = useServerTime ? Math.floor(timeOf(reply)) : own;
      // Those that were given up meanwhile as well: the server has charged them.
      callbacks.answer(stepAll(jobs, batch.cells, now, counters));
    },
  }, context);
}
