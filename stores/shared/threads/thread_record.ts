/*
 * Whose a thread's record is.
 *
 * A thread that attaches takes a record that was given back, else that of a thread which has made no
 * call for long, else one never used, else that of a thread which makes none just now. So records
 * in use are about as many as threads that live, which matters as all are looked through again and
 * again. A thread that dies between calls leaves its record whole, so whoever takes it over has all
 * that it had. It cannot be known to be dead; it may only be asleep.
 * So the taker changes the owner's word, waits until every thread must see that, and looks whether
 * a call was made meanwhile. A thread that wakes finds that the word is not its own any more, and
 * attaches anew. A thread that dies in the middle of a call leaves a record that never becomes
 * idle, and nobody touches it again.
 *
 * Every change of hands raises the generation, by one swap of the whole word: so at most one thread
 * ever has a record under a generation.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { StoreFullError } from "../../../core/errors.ts";
import {
  ANNOUNCED,
  ANNOUNCED_CELLS,
  CALLS,
  CALLS_SEEN,
  CALLS_SEEN_AT,
  COUNTERS,
  header,
  type Memory,
  OWNER,
  RECORD,
  SEEN_SIZE,
} from "../layout.ts";

/** What a thread counts; others may read it at any time. */
export const counter = {
  contention: 0,
  inserted: 1,
  evicted: 2,
  dropped: 3,
  scans: 4,
  takenOver: 5,
  aborted: 6,
} as const;

/** A record and the owner's word under which it is the calling thread's. */
export interface RecordClaim {
  readonly record: number;
  readonly owner: number;
}

/** The owner's word of a record never used, which comes back in none that was. */
export const NO_OWNER = 0;
const IN_USE = 1;
const GIVEN_BACK = 2;
const BEING_TAKEN = 3;
const STATE = 3;
/** The cell stands beside the state, the generation before it. */
const CELL_ONE = 4;
const CELL = (ANNOUNCED_CELLS - 1) * CELL_ONE;
const GENERATION_ONE = ANNOUNCED_CELLS * CELL_ONE;

/** Milliseconds after which every thread sees an owner's word that was changed. */
const GRACE = 3;
/** Milliseconds in which a living thread is expected to make a call, when there are no records left. */
const QUIET = 60;
/** Seconds without a call after which a thread may lose its record although there are others left. */
const LONG_QUIET = 10;

/** The next generation's word, in a state: whoever takes a record over goes on to the next cell. */
function renewed(owner: number, state: number): number {
  const cell = (owner + (state === BEING_TAKEN ? CELL_ONE : 0)) & CELL;
  const generation = (owner & -GENERATION_ONE) + GENERATION_ONE;
  return (generation | cell | state) | 0;
}

/** The cell in which the owner of a record announces. */
export function announcedAt({ record, owner }: RecordClaim): number {
  return record + ANNOUNCED + (owner & CELL) / CELL_ONE;
}

/**
 * A record for the calling thread.
 *
 * @param isAgain Whether the thread has lost its record, and is about to make a call: if it can be,
 * that does not wait.
 * @throws {StoreFullError} If all records belong to threads that make calls, or died in one.
 */
export function claimRecord(
  memory: Memory,
  isAgain: boolean,
  now: number = Date.now(),
): RecordClaim {
  const second = Math.floor(now / 1_000) | 0;
  const claim = claimGivenBack(memory) ?? (isAgain ? undefined : claimQuiet(memory, second)) ??
    claimNew(memory) ?? claimIdle(memory);
  if (claim === undefined) throw noRecord(memory.threads, isAgain);
  noteCalls(memory, claim.record, second);
  return claim;
}

function noRecord(threads: number, isAgain: boolean): StoreFullError {
  const rule = "fewer threads than its option threads must be attached or have died in mid-call";
  const action = isAgain
    ? "decide in a thread whose record another one has taken over while it was idle, and attach again"
    : "attach to the shared store";
  return new StoreFullError(errorMessage(action, rule, threads));
}

/** Gives a record back, unless another thread has taken it over. */
export function releaseRecord({ ints }: Memory, { record, owner }: RecordClaim): void {
  const given = ((owner & ~STATE) | GIVEN_BACK) | 0;
  Atomics.compareExchange(ints, record + OWNER, owner, given);
}

/** Takes over a record that stands at `owner`; `undefined` if somebody was faster. */
function take(
  { ints }: Memory,
  record: number,
  owner: number,
  state: number,
): RecordClaim | undefined {
  const mine = renewed(owner, state);
  if (Atomics.compareExchange(ints, record + OWNER, owner, mine) !== owner) return undefined;
  return { record, owner: mine };
}

function claimGivenBack(memory: Memory): RecordClaim | undefined {
  for (const record of usedRecords(memory)) {
    const owner = Atomics.load(memory.ints, record + OWNER);
    if ((owner & STATE) !== GIVEN_BACK) continue;
    const claim = take(memory, record, owner, IN_USE);
    if (claim !== undefined) return claim;
  }
  return undefined;
}

function claimNew(memory: Memory): RecordClaim | undefined {
  const { ints, records, threads } = memory;
  while (Atomics.load(ints, header.records) < threads) {
    const place = Atomics.add(ints, header.records, 1);
    if (place < threads) return take(memory, records + place * RECORD, NO_OWNER, IN_USE);
    Atomics.sub(ints, header.records, 1);
  }
  return undefined;
}

/** The record of a thread that has made no call for long, as those saw who attached before. */
function claimQuiet(memory: Memory, second: number): RecordClaim | undefined {
  const { ints } = memory;
  for (const record of usedRecords(memory)) {
    const calls = callsOf(memory, record);
    if (ints[record + CALLS_SEEN] !== calls) {
      noteCalls(memory, record, second);
      continue;
    }
    const seconds = (second - ints[record + CALLS_SEEN_AT]!) | 0;
    const claim = seconds >= LONG_QUIET ? takeOver(memory, record, calls) : undefined;
    if (claim !== undefined) return claim;
  }
  return undefined;
}

/** The record of a thread that makes no call for a while. */
function claimIdle(memory: Memory): RecordClaim | undefined {
  const calls = usedRecords(memory).map((record) => [record, callsOf(memory, record)] as const);
  pause(QUIET);
  for (const [record, before] of calls) {
    const claim = takeOver(memory, record, before);
    if (claim !== undefined) return claim;
  }
  return undefined;
}

/** Takes a record over, if its thread is in no call and has made none since it had made `calls`. */
function takeOver(memory: Memory, record: number, calls: number): RecordClaim | undefined {
  const { ints } = memory;
  const isStill = () => isIdle(memory, record) && callsOf(memory, record) === calls;
  const owner = Atomics.load(ints, record + OWNER);
  if (!isStill()) return undefined;
  const claim = take(memory, record, owner, BEING_TAKEN);
  if (claim === undefined) return undefined;
  pause(GRACE);
  if (!isStill()) return undefined;
  const mine = ((claim.owner & ~STATE) | IN_USE) | 0;
  const isMine = Atomics.compareExchange(ints, record + OWNER, claim.owner, mine) === claim.owner;
  if (!isMine) return undefined;
  ints[record + COUNTERS + counter.takenOver]!++;
  return { record, owner: mine };
}

function callsOf({ ints }: Memory, record: number): number {
  return Atomics.load(ints, record + CALLS);
}

function noteCalls(memory: Memory, record: number, second: number): void {
  memory.ints[record + CALLS_SEEN] = callsOf(memory, record);
  memory.ints[record + CALLS_SEEN_AT] = second;
}

/** Whether the record's thread is in no call. */
function isIdle({ ints }: Memory, record: number): boolean {
  for (let cell = 0; cell < ANNOUNCED_CELLS; cell++) {
    if (Atomics.load(ints, record + ANNOUNCED + cell) !== 0) return false;
  }
  return Atomics.load(ints, record + SEEN_SIZE) === 0;
}

/** Where the records lie that have been used. */
export function usedRecords({ ints, records, threads }: Memory): readonly number[] {
  const used = Math.min(threads, Atomics.load(ints, header.records));
  return Array.from({ length: used }, (_, place) => records + place * RECORD);
}

/** What the threads have counted, all together. */
export function sumCounters(memory: Memory, what: number): number {
  return usedRecords(memory)
    .reduce((sum, record) => sum + (memory.ints[record + COUNTERS + what]! >>> 0), 0);
}

function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
