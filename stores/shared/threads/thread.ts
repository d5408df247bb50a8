/*
 * The calling thread's place in the store: the record that is its own, as long as nobody takes it
 * over, and the cell in which it announces. What it has spare lies in the record.
 */

import { COUNTERS, type Memory, OWNER, SEEN_SIZE } from "../layout.ts";
import { announcedAt, claimRecord, NO_OWNER, releaseRecord } from "./thread_record.ts";

/** A thread that is attached. */
export interface Thread {
  readonly memory: Memory;
  /** Where its record lies. */
  record: number;
  /** The owner's word under which the record is this thread's. */
  owner: number;
  /** Where it announces. */
  announced: number;
  /**
   * Whether a slot may have been swapped whose blocks and nodes are not yet accounted for. If the
   * call ends there (the stack overflows, a time limit of `node:vm` is reached), the record is given
   * up, as that of a thread that dies.
   */
  isChanging: boolean;
  /** The blocks that others announce: an array that is filled anew each time. */
  readonly pinned: number[];
}

/**
 * Attaches the calling thread.
 *
 * @throws {StoreFullError} If all records belong to threads that make calls, or died in one.
 */
export function attachThread(memory: Memory): Thread {
  const claim = claimRecord(memory, false);
  return {
    memory,
    record: claim.record,
    owner: claim.owner,
    announced: announcedAt(claim),
    isChanging: false,
    pinned: [],
  };
}

/**
 * Attaches a thread once more that has lost its record.
 *
 * @throws {StoreFullError} If all records belong to threads that make calls, or died in one.
 */
export function attachAgain(thread: Thread): void {
  const claim = claimRecord(thread.memory, true);
  thread.record = claim.record;
  thread.owner = claim.owner;
  thread.announced = announcedAt(claim);
  thread.isChanging = false;
}

/** Gives the record back, cleared of a call that was cut short; not one that is no longer whole. */
export function detachThread(thread: Thread): void {
  const { memory, record, owner, announced, isChanging } = thread;
  const { ints } = memory;
  thread.owner = NO_OWNER;
  if (isChanging || owner === NO_OWNER) return;
  if (ints[record + OWNER] === owner && ints[announced] !== 0) {
    ints[record + SEEN_SIZE] = 0;
    ints[announced] = 0;
  }
  releaseRecord(memory, { record, owner });
}

/** Whether the thread has given its record back for good. */
export function isDetached({ owner }: Thread): boolean {
  return owner === NO_OWNER;
}

/** Counts what has happened; `what` is one of `counter`. */
export function count({ memory: { ints }, record }: Thread, what: number): void {
  ints[record + COUNTERS + what]!++;
}
