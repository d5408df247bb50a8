/*
 * A batch: the calls that one transaction decides. This file steps it, and a driver commits it
 * (driver.ts).
 *
 * Each key has a cell. Calls are stepped over the cells one after the other, in the order in which
 * they came, as if each had been alone. So many calls on one key are one write. Nothing in here
 * touches the server.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { splitReducer } from "../../core/algorithms/split_reducer.ts";
import { takeOver } from "../../core/carry_over.ts";
import { keptFor } from "../../core/kept_for.ts";
import { transact } from "../../core/transact.ts";
import { boundedState, isAhead, MOST_AHEAD } from "../../core/bounded_state.ts";
import {
  type Cell,
  decodeText,
  discardChanges,
  emptyCell,
  encodeCell,
  rootOf,
  tieCells,
} from "./cell.ts";
import {
  type Answer,
  type Bound,
  type Job,
  keySet,
  namesOf,
  type Several,
  type SpacedKey,
} from "./job.ts";
import type { ServerCounters } from "./server_statistics.ts";

/** The parts of one batch. */
export interface Batch {
  readonly jobs: Job[];
  readonly cells: Cells;
  /** If its calls must be alone: for each stored key, the `keySet` of the calls that may use it. */
  readonly alone: Map<string, string> | undefined;
}

/** The cells of a batch. */
export interface Cells {
  readonly all: Cell[];
  /** The cells by the text of the key's space, then by the caller's own text, whose hash is known. */
  readonly bySpace: Map<string, Map<string, Cell>>;
}

/** Takes a call into a batch. */
export function addJob(job: Job, { jobs, cells, alone }: Batch): void {
  const { several } = job;
  job.cell = addCell(cells, job);
  if (several !== undefined) { for (const each of several.keys) addCell(cells, each); }
  if (alone !== undefined) { for (const name of namesOf(job)) alone.set(name, keySet(job)); }
  jobs.push(job);
}

/** The cell of a key; an empty one if it is new. */
function addCell({ all, bySpace }: Cells, { space, key }: SpacedKey): Cell {
  let own = bySpace.get(space.text);
  if (own === undefined) bySpace.set(space.text, own = new Map());
  let cell = own.get(key);
  if (cell === undefined) {
    own.set(key, cell = emptyCell(space.nameOf(key), all.length));
    all.push(cell);
  }
  return cell;
}

/** The cell of a key; `undefined` if the batch does not have it. */
export function cellOf({ bySpace }: Cells, { space, key }: SpacedKey): Cell | undefined {
  return bySpace.get(space.text)?.get(key);
}

/** The cells of a call's keys. */
export function cellsOf({ cell, several }: Job, cells: Cells): readonly Cell[] {
  return several === undefined ? [cell!] : several.keys.map((key) => cellOf(cells, key)!);
}

/** An empty batch for calls like this one. */
export function emptyBatch({ alone }: Pick<Job, "alone">): Batch {
  return {
    jobs: [],
    cells: { all: [], bySpace: new Map() },
    alone: alone ? new Map() : undefined,
  };
}

/**
 * Whether a call may join the calls of a batch, some of which may have to be alone. Such a call shares
 * a transaction, or a script call, only with calls on the same keys. A batch of several script calls
 * may have other calls as well.
 *
 * @param isOne Whether the batch is one transaction.
 */
export function canShare({ jobs, alone }: Batch, job: Job, isOne: boolean): boolean {
  if (alone === undefined) return !job.alone;
  if (jobs.length === 0) return true;
  const names = namesOf(job);
  if (isOne) return alone.size === names.length && names.every((name) => alone.has(name));
  const own = keySet(job);
  return names.every((name) => (alone.get(name) ?? own) === own);
}

/**
 * Whether a call may join the batch because all its keys are being loaded; `undefined` if no call may
 * join any more. If only some of its keys are, it has to wait, and so do the calls after it, because
 * calls on a key are decided in the order in which they came.
 *
 * @param most The most calls of a batch.
 */
export function mayJoin(batch: Batch, job: Job, most: number): boolean | undefined {
  const { jobs, cells } = batch;
  if (!canShare(batch, job, true) || jobs.length >= most) return undefined;
  if (job.several === undefined) return cellOf(cells, job) !== undefined;
  const { keys } = job.several;
  const loaded = keys.filter((key) => cellOf(cells, key) !== undefined).length;
  return loaded === keys.length ? true : loaded === 0 ? false : undefined;
}

/** The counters of what is read. */
type ReadCounters = Pick<ServerCounters, "unreadable">;

/** The time of a batch. */
export interface BatchTime {
  /** The instant at which calls without one of their own are decided. */
  readonly now: number;
  /** Whether every process that uses the keys takes the time from the same clock. */
  readonly isShared: boolean;
}

/**
 * Decides all calls in their order, and encodes the changed states. A call whose reducer throws, or
 * whose state cannot be encoded, fails at once and changes nothing. Returns the other calls.
 *
 * @param waiting Calls that must not be decided now.
 */
export function decideBatch(
  batch: Batch,
  time: BatchTime,
  counters: ReadCounters,
  waiting: ReadonlySet<Job> = NONE,
): readonly Job[] {
  const { jobs, cells } = batch;
  // Calls that were given up meanwhile must not be charged.
  const isLeftOut = (job: Job) => job.settled || waiting.size > 0 && waiting.has(job);
  const asked = jobs.some(isLeftOut) ? jobs.filter((job) => !isLeftOut(job)) : jobs;
  return encodeAll(batch, stepAll(asked, cells, time, counters), time.now);
}

const NONE: ReadonlySet<Job> = new Set();

/**
 * Decides calls in their order. A call whose reducer throws fails at once. Returns the other calls.
 */
export function stepAll(
  jobs: readonly Job[],
  cells: Cells,
  time: BatchTime,
  counters: ReadCounters,
): readonly Job[] {
  let failed: Set<Job> | undefined;
  for (const job of jobs) {
    try {
      job.answer = step(job, cells, time, counters);
      if (job.several !== undefined) tieCells(cellsOf(job, cells));
    } catch (error) {
      (failed ??= new Set()).add(job);
      // A driver may have calls decided twice, and a failed call must not be charged the second time.
      job.settled = true;
      job.reject(error as Error);
    }
  }
  return failed === undefined ? jobs : jobs.filter((job) => !failed.has(job));
}

function encodeAll({ cells }: Batch, stepped: readonly Job[], now: number): readonly Job[] {
  let faults: Map<Cell, Error> | undefined;
  for (const cell of cells.all) {
    try {
      encodeCell(cell, now);
    } catch (error) {
      (faults ??= new Map()).set(rootOf(cell), error as Error);
    }
  }
  if (faults === undefined) return stepped;
  for (const cell of cells.all) if (faults.has(rootOf(cell))) discardChanges(cell);
  return stepped.filter((job) => {
    const fault = faults.get(rootCellOf(job));
    if (fault === undefined) return true;
    job.settled = true;
    job.reject(fault);
    return false;
  });
}

/** The cell that decides whether a call is committed. */
export function rootCellOf(job: Job): Cell {
  return rootOf(job.cell!);
}

/**
 * Steps a call over the cells. They change only if the call is admitted.
 *
 * @throws Any error of a reducer at bad input; the cells are unchanged.
 */
function step(
  { bound, argument, several, at, cell }: Job,
  cells: Cells,
  { now, isShared }: BatchTime,
  counters: ReadCounters,
): Answer {
  const instant = at ?? now;
  const isBounded = isShared && at === undefined;
  if (bound !== undefined) return stepOne(bound, argument, cell!, instant, isBounded, counters);
  if (several !== undefined) return stepSeveral(several, cells, instant, isBounded, counters);
  forget(cell!);
  return undefined;
}

function stepOne(
  { steps, verb, longest, family: { spec: { algorithm } } }: Bound,
  argument: unknown,
  cell: Cell,
  instant: number,
  isBounded: boolean,
  counters: ReadCounters,
): Answer {
  let state = stateOf(cell, algorithm, counters) ?? algorithm.initial;
  let next = steps.next(state, instant, argument);
  let answer = steps.answer(state, next, instant, argument);
  // Most states are nearer than that.
  const mayBeAhead = isBounded && verb.decisionOf(answer).resetAfter > longest;
  if (mayBeAhead && boundCell(cell, algorithm, state, instant, verb.kind === "look")) {
    state = boundedState(algorithm, state, instant);
    next = steps.next(state, instant, argument);
    answer = steps.answer(state, next, instant, argument);
  }
  if (next !== state) {
    put(cell, algorithm, next, keptFor(algorithm, next, instant, verb.decisionOf(answer)));
    cell.owes = mayBeAhead && isAhead(algorithm, next, instant, MOST_AHEAD);
  }
  return answer;
}

/**
 * Moves a state that is too far ahead back to its bound, unless it is in debt. A look changes nothing.
 * Returns whether the state was too far ahead.
 */
function boundCell(
  cell: Cell,
  algorithm: Algorithm,
  state: unknown,
  instant: number,
  isLook: boolean,
): boolean {
  if (cell.owes || !isAhead(algorithm, state, instant, MOST_AHEAD)) return false;
  const bounded = boundedState(algorithm, state, instant);
  const { resetAfter } = splitReducer(algorithm).decide(bounded, bounded, instant, 0);
  if (!isLook) put(cell, algorithm, bounded, resetAfter);
  return true;
}

function stepSeveral(
  { parts, isSingle }: Several,
  cells: Cells,
  instant: number,
  isBounded: boolean,
  counters: ReadCounters,
): Answer {
  const copies: (() => void)[] = [];
  const states = parts.map((part) => {
    const { bound: { verb, family: { spec } }, older } = part;
    const cell = cellOf(cells, part)!;
    const held = stateOf(cell, spec.algorithm, counters);
    if (held !== undefined) {
      const isLook = verb.kind === "look";
      return isBounded && boundCell(cell, spec.algorithm, held, instant, isLook)
        ? boundedState(spec.algorithm, held, instant)
        : held;
    }
    const cellsOfOlder = older.map((key) => cellOf(cells, key)!);
    const stateUnder = (index: number) =>
      stateOf(cellsOfOlder[index]!, spec.older[index]!.algorithm, counters);
    if (older.length === 0) return spec.algorithm.initial;
    const state = takeOver(spec, stateUnder, instant);
    // A look writes nothing. Any other call writes the state that it took over, even if it is
    // refused; otherwise the next call would take it over again, as if no time had passed.
    if (verb.kind !== "look" && state !== spec.algorithm.initial) {
      copies.push(() => {
        const decision = splitReducer(spec.algorithm).decide(state, state, instant, 0);
        put(cell, spec.algorithm, state, keptFor(spec.algorithm, state, instant, decision));
      });
    }
    return state;
  });
  const { answers, nexts } = transact(parts, states, instant);
  for (const copy of copies) copy();
  for (const [index, part] of parts.entries()) {
    if (nexts[index] === states[index]) continue;
    const { verb, family: { spec: { algorithm } } } = part.bound;
    const decision = verb.decisionOf(answers[index]);
    const kept = keptFor(algorithm, nexts[index], instant, decision);
    const cell = cellOf(cells, part)!;
    put(cell, algorithm, nexts[index], kept);
    cell.owes = isBounded && decision.resetAfter > part.bound.longest &&
      isAhead(algorithm, nexts[index], instant, MOST_AHEAD);
  }
  return isSingle ? answers[0] : answers;
}

function stateOf(cell: Cell, algorithm: Algorithm, counters: ReadCounters): unknown {
  if (cell.read) return cell.state;
  cell.read = true;
  cell.state = decodeText(cell.held!, algorithm);
  if (cell.state === undefined) counters.unreadable++;
  return cell.state;
}

function put(cell: Cell, algorithm: Algorithm, state: unknown, resetAfter: number): void {
  cell.read = true;
  cell.changed = true;
  cell.state = state;
  cell.algorithm = algorithm;
  cell.resetAfter = resetAfter;
  cell.owes = false;
}

function forget(cell: Cell): void {
  cell.read = true;
  cell.changed = true;
  cell.state = undefined;
  cell.algorithm = undefined;
}
