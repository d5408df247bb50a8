/*
 * Decides how each call is committed. Calls of one store can need different ways, and a batch
 * holds only calls that are committed in the same way.
 */

import type { Operation } from "../../../core/old/old_store.ts";
import type { Job } from "../batches/job.ts";

/** How batches are committed. */
export type Commit = "watch" | "cas" | "script";

/**
 * How a call is committed in a mode: as the mode says, unless only a watched transaction is safe,
 * or the script cannot run an algorithm.
 */
export function chooseCommit({ watched, one, several }: Job, mode: Commit): Commit {
  if (watched) return "watch";
  if (mode !== "script") return mode;
  const isKnown = one === undefined
    ? several === undefined || areCompiled(several.operations)
    : isCompiled(one);
  return isKnown ? "script" : "cas";
}

/** Whether the script can do what an operation asks for. */
function isCompiled({ algorithm, replaces }: Operation): boolean {
  return algorithm.internals?.formula !== undefined && replaces === undefined;
}

/** The same for several: the script takes a charge that changes nothing for a refusal. */
function areCompiled(operations: readonly Operation[]): boolean {
  return operations.every(isCompiled) && (operations.length === 1 || !operations.some(isCharge));
}

function isCharge({ algorithm }: Operation): boolean {
  return algorithm.internals?.formula?.[0] === "charge";
}
