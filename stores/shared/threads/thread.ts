/*
 * The record of the calling thread. It holds the words that the thread announces, and its spare
 * blocks and free nodes.
 *
 * The word of announcement is also the record's lock. Between calls it is 0. A thread that wants to
 * work with the record swaps it for 1, and later for the slot's word that its call works on. No
 * thread waits for the lock.
 *
 * A thread that attaches takes a record that was given back, or a new one. If neither is left, it
 * locks the record of a thread that is not in a call, writes its own number over the owner's, and
 * unlocks the record. A thread that locks its record and finds another number there has lost the
 * record, and attaches anew.
 *
 * So a thread may lose its record between two calls. A thread that dies between calls leaves its
 * record whole, and another thread takes it over. A thread that dies in the middle of a call leaves
 * its record locked forever. Correctness does not depend on time. Threads prefer the records of
 * threads that have long been quiet, but only because that is faster.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { StoreFullError } from "../../../core/errors.ts";
import { printedOnce } from "../../../core/guarded.ts";
import { field, header, type Memory, RECORD } from "../layout.ts";
import { pause } from "./pause.ts";

/** The counters of a thread; others may read them at any time. */
export const counter = {
  contention: 0,
  inserted: 1,
  evicted: 2,
  evictedForNodes: 7,
  evictedForSlots: 9,
  /** Records that were taken, after a wait, from threads that may still make calls. */
  waited: 10,
  dropped: 3,
  scans: 4,
  takeovers: 5,
  aborted: 6,
  /** Nodes taken less nodes given back. It is below 0 in a thread that gives back nodes of others. */
  nodes: 8,
} as const;

/** A thread that is attached. */
export interface Thread {
  readonly memory: Memory;
  /** The place of its record. */
  record: number;
  /** The thread's number, which marks the record as its own. No other thread ever has this number. */
  owner: number;
  /** Whether the thread is in a call, which locks its record, or was cut short in its last call. */
  isInCall: boolean;
  /**
   * Whether the thread may have swapped a slot, and has not yet accounted for its blocks and nodes.
   * If the call is cut short there (the stack overflows, or a time limit of `node:vm` is reached),
   * the record is given up, as if the thread had died.
   */
  isChanging: boolean;
  /** An array for the blocks that others announce. Each check fills it anew. */
  readonly pinned: number[];
  /** The bound of the last pause after a lost race, and how many calls came before it. */
  readonly rest: { turns: number; calls: number };
}

/** Owners that are not threads: of an unused record, of one given back, and of a closed thread. */
const NEVER_USED = 0;
const GIVEN_BACK = -1;
const DETACHED = -2;
/**
 * Milliseconds without a call after which a thread may lose its record, if no free record is left.
 */
const QUIET = 60;
/**
 * Seconds without a call after which a thread may lose its record even if free records are left.
 */
const LONG_QUIET = 10;
/** Tries to take a record that another thread has locked for an instant. */
const TRIES = 100;

/**
 * Attaches the calling thread.
 *
 * @throws {StoreFullError} If all records belong to threads that make calls, or died in one.
 */
export function attachThread(memory: Memory, now: number = Date.now()): Thread {
  const thread: Thread = {
    memory,
    record: 0,
    owner: 0,
    isInCall: false,
    isChanging: false,
    pinned: [],
    rest: { turns: 1, calls: 0 },
  };
  claimRecord(thread, "attach to the shared store", now);
  return thread;
}

/**
 * Gives the record back, and unlocks it even after a call that was cut short. A record that was given
 * up stays as it is.
 */
export function detachThread(thread: Thread): void {
  const { memory: { ints }, record, owner, isInCall, isChanging } = thread;
  thread.owner = DETACHED;
  if (owner === DETACHED || isChanging) return;
  if (isInCall) {
    Atomics.store(ints, record + field.seenSize, 0);
    Atomics.store(ints, record + field.announced, 0);
  }
  Atomics.compareExchange(ints, record + field.owner, owner, GIVEN_BACK);
}

/** Whether the thread has given its record back for good. */
export function isDetached({ owner }: Thread): boolean {
  return owner === DETACHED;
}

/**
 * Begins a call: locks the thread's record, or a new record if it has lost its own.
 *
 * @throws {StoreFullError} If no record is free.
 */
export function lockOwnRecord(thread: Thread): void {
  const action = "decide in a thread whose record another one has taken over while it was idle, " +
    "and attach again";
  while (thread.isChanging || !(thread.isInCall || isLockedAsOwn(thread))) {
    claimRecord(thread, action, Date.now());
  }
  thread.isInCall = true;
}

function isLockedAsOwn({ memory: { ints }, record, owner }: Thread): boolean {
  for (let tries = 0; tries < TRIES; tries++) {
    if (!lock(ints, record)) continue;
    if (ints[record + field.owner] === owner) return true;
    Atomics.store(ints, record + field.announced, 0);
    return false;
  }
  return false;
}

/** Ends a call, unless it was cut short in the middle of a change. */
export function unlock(thread: Thread): void {
  const { memory: { ints, keepsOrder }, record, isChanging } = thread;
  if (isChanging) return;
  thread.isInCall = false;
  if (keepsOrder) ints[record + field.announced] = 0;
  else Atomics.store(ints, record + field.announced, 0);
}

/** Counts an event; `what` is one of `counter`. */
export function count({ memory: { ints }, record }: Thread, what: number): void {
  ints[record + field.counters + what]!++;
}

/** The sum of one counter over all threads. */
export function sumCounters(memory: Memory, what: number): number {
  return usedRecords(memory)
    .reduce((sum, record) => sum + Atomics.load(memory.ints, record + field.counters + what), 0);
}

/** How many records belong to threads that have long been in the same call. */
export function countLost(memory: Memory): number {
  const second = Math.floor(Date.now() / 1_000) | 0;
  return usedRecords(memory).filter((record) =>
    Atomics.load(memory.ints, record + field.announced) !== 0 && isQuiet(memory, record, second)
  ).length;
}

/** The places of the records that have been used. */
export function usedRecords({ ints, records, threads }: Memory): readonly number[] {
  const used = Math.min(threads, Atomics.load(ints, header.records));
  return Array.from({ length: used }, (_, index) => records + index * RECORD);
}

/**
 * Gives the thread a record. It prefers a record that was given back, then the record of a thread
 * that has long been quiet, then a new record, then any idle one.
 */
function claimRecord(thread: Thread, action: string, now: number): void {
  const { memory, memory: { ints } } = thread;
  const second = Math.floor(now / 1_000) | 0;
  do thread.owner = (Atomics.add(ints, header.owners, 1) + 1) | 0; while (
    thread.owner >= DETACHED && thread.owner <= NEVER_USED
  );
  thread.isInCall = thread.isChanging = false;
  const used = usedRecords(memory);
  const isClaimed = used.some((record) => take(thread, record, GIVEN_BACK)) ||
    used.some((record) => isQuiet(memory, record, second) && seizeRecord(thread, record)) ||
    claimNew(thread) || claimIdle(thread);
  if (!isClaimed) {
    const rule =
      "fewer threads than its option threads must be attached, or have died during a call";
    throw new StoreFullError(errorMessage(action, rule, memory.threads));
  }
  noteCalls(memory, thread.record, second);
}

/** Takes a record that was never used. No other thread knows its place, so nobody can be faster. */
function claimNew(thread: Thread): boolean {
  const { ints, records, threads } = thread.memory;
  while (Atomics.load(ints, header.records) < threads) {
    const place = Atomics.add(ints, header.records, 1);
    if (place < threads) return take(thread, records + place * RECORD, NEVER_USED);
    Atomics.sub(ints, header.records, 1);
  }
  return false;
}

/** Takes the record of a thread that makes no call for a while. Waits for that while. */
function claimIdle(thread: Thread): boolean {
  const { memory } = thread;
  warnOfThreads(memory.threads);
  const calls = usedRecords(memory).map((record) => [record, callCountOf(memory, record)] as const);
  pause(QUIET);
  const isClaimed = calls.some(([record, before]) =>
    callCountOf(memory, record) === before && seizeRecord(thread, record)
  );
  if (isClaimed) count(thread, counter.waited);
  return isClaimed;
}

const warn = printedOnce();

/** Warns once, because nobody would notice otherwise: calls then wait, but do not fail. */
function warnOfThreads(threads: number): void {
  warn(
    `More threads are attached to a sharedStore than its option threads, ${threads}: they take ` +
      "turns, and calls wait up to 60 ms. Raise threads, and close stores that are done (docs/errors.md#more-threads-are-attached).",
  );
}

/** Takes over a record if its thread is not in a call. */
function seizeRecord(thread: Thread, record: number): boolean {
  const { ints } = thread.memory;
  const owner = Atomics.load(ints, record + field.owner);
  if (owner === NEVER_USED || !lock(ints, record)) return false;
  const isTaken = take(thread, record, owner);
  if (isTaken) count(thread, counter.takeovers);
  Atomics.store(ints, record + field.announced, 0);
  return isTaken;
}

/** Makes the thread the owner of a record, if its owner is still the given one. */
function take(thread: Thread, record: number, owner: number): boolean {
  const { ints } = thread.memory;
  if (ints[record + field.owner] !== owner) return false;
  if (Atomics.compareExchange(ints, record + field.owner, owner, thread.owner) !== owner) {
    return false;
  }
  thread.record = record;
  return true;
}

function lock(ints: Int32Array, record: number): boolean {
  return Atomics.compareExchange(ints, record + field.announced, 0, 1) === 0;
}

/** Whether a record's thread has long made no call, by the notes of threads that attached before. */
function isQuiet(memory: Memory, record: number, second: number): boolean {
  const { ints } = memory;
  if (ints[record + field.callsSeen] !== callCountOf(memory, record)) {
    noteCalls(memory, record, second);
  }
  return ((second - ints[record + field.callsSeenAt]!) | 0) >= LONG_QUIET;
}

function callCountOf({ ints }: Memory, record: number): number {
  return Atomics.load(ints, record + field.calls);
}

function noteCalls(memory: Memory, record: number, second: number): void {
  memory.ints[record + field.callsSeen] = callCountOf(memory, record);
  memory.ints[record + field.callsSeenAt] = second;
}
