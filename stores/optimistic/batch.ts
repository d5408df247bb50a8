/*
 * A batch: what one transaction decides. It is stepped here, and committed by a driver (driver.ts).
 *
 * Each key has a cell. Calls are stepped one after the other over the cells, as if each had been
 * alone; so many calls on one key are one write, and the order in which they came is the order in
 * which they are decided. Nothing in here touches the server.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { splitReducer } from "../../core/algorithms/split_reducer.ts";
import { takeOver } from "../../core/carry_over.ts";
import { keptFor } from "../../core/receipts/receipts_of.ts";
import { transact } from "../../core/transact.ts";
import { type Cell, discardChanges, emptyCell, encodeCell, rootOf, tieCells } from "./cell.ts";
import { type Answer, type Bound, type Job, keySet, keysOf, type Several } from "./job.ts";
import type { EngineCounters } from "./engine_context.ts";

/** The parts of one batch. */
export interface Batch {
  readonly jobs: Job[];
  /** The cells of all their keys. */
  readonly cells: Map<string, Cell>;
  /** Whether the slot is being moved to this node, which wants an ASKING then. */
  readonly asking: boolean;
  /** Whether it is a transaction of its connection: see driver.ts. */
  readonly exclusive: boolean;
  /** Whether calls may join it while its values are loaded: not if they would overtake others. */
  open: boolean;
  /** Whether a call in it must be alone in its transaction. */
  hasAlone: boolean;
}

/** Takes a call into a batch. */
export function addJob(job: Job, batch: Batch): void {
  const { jobs, cells } = batch;
  const { key, several } = job;
  job.cell = cellIn(cells, key, job);
  if (several !== undefined) { for (const each of several.keys) cellIn(cells, each, job); }
  if (job.alone) batch.hasAlone = true;
  jobs.push(job);
}

/** The cell of a key; an empty one if it is new. */
function cellIn(cells: Map<string, Cell>, key: string, job: Job): Cell {
  let cell = cells.get(key);
  if (cell === undefined) {
    cells.set(key, cell = emptyCell(key, job.slot, cells.size));
    if (job.alone) cell.alone = keySet(job);
  }
  return cell;
}

/** An empty batch for calls like this one. */
export function emptyBatch({ asking }: Job, exclusive: boolean): Batch {
  return { jobs: [], cells: new Map(), asking, exclusive, open: true, hasAlone: false };
}

/** Whether a call can be in a batch with those in it, as far as one of them must be alone. */
export function canShare({ jobs, cells, exclusive, hasAlone }: Batch, job: Job): boolean {
  if (jobs.length === 0 || !(job.alone || hasAlone)) return true;
  const keys = keysOf(job);
  if (exclusive) return cells.size === keys.length && keys.every((key) => cells.has(key));
  // A batch of script calls has one of them for each that must be alone.
  return keys.every((key) => {
    const cell = cells.get(key);
    if (cell === undefined) return true;
    return cell.alone === undefined ? !job.alone : cell.alone === keySet(job);
  });
}

/**
 * Whether all keys of a call are being loaded, so that it may join the batch. If only some are, it
 * has to wait, and so have those after it: calls on a key are decided in the order in which they came.
 *
 * @param most The most calls of a batch.
 */
export function mayJoin(batch: Batch, job: Job, most: number): boolean {
  const { jobs, cells } = batch;
  const fits = batch.asking === job.asking && canShare(batch, job) && jobs.length < most;
  if (!fits) batch.open = false;
  if (!batch.open) return false;
  if (job.several === undefined) return cells.has(job.key);
  const { keys } = job.several;
  const loaded = keys.filter((key) => cells.has(key)).length;
  if (loaded > 0 && loaded < keys.length) batch.open = false;
  return loaded === keys.length;
}

/**
 * Decides all calls in their order, and encodes what they change. A call whose reducer throws, or
 * whose state cannot be encoded, fails at once and changes nothing; returns the others.
 *
 * @param waiting Calls that are not to be decided now.
 */
export function decideBatch(
  batch: Batch,
  now: number,
  counters: EngineCounters,
  waiting: ReadonlySet<Job> = NONE,
): readonly Job[] {
  const { jobs, cells } = batch;
  // Calls that were given up meanwhile are not to be charged.
  const isLeftOut = (job: Job) => job.settled || waiting.has(job);
  const asked = jobs.some(isLeftOut) ? jobs.filter((job) => !isLeftOut(job)) : jobs;
  return encodeAll(batch, stepAll(asked, cells, now, counters), now);
}

const NONE: ReadonlySet<Job> = new Set();

/** Decides calls in their order; one whose reducer throws fails at once. Returns the others. */
export function stepAll(
  jobs: readonly Job[],
  cells: ReadonlyMap<string, Cell>,
  now: number,
  counters: EngineCounters,
): readonly Job[] {
  const failed = new Set<Job>();
  for (const job of jobs) {
    try {
      job.answer = step(job, cells, now, counters);
      if (job.several !== undefined) tieCells(job.several.keys, cells);
    } catch (error) {
      failed.add(job);
      job.reject(error as Error);
    }
  }
  return failed.size === 0 ? jobs : jobs.filter((job) => !failed.has(job));
}

function encodeAll({ cells }: Batch, stepped: readonly Job[], now: number): readonly Job[] {
  const faults = new Map<Cell, Error>();
  for (const cell of cells.values()) {
    try {
      encodeCell(cell, now);
    } catch (error) {
      faults.set(rootOf(cell), error as Error);
    }
  }
  if (faults.size === 0) return stepped;
  for (const cell of cells.values()) if (faults.has(rootOf(cell))) discardChanges(cell);
  return stepped.filter((job) => {
    const fault = faults.get(rootCellOf(job));
    if (fault !== undefined) job.reject(fault);
    return fault === undefined;
  });
}

/** The cell that decides whether a call is committed. */
export function rootCellOf(job: Job): Cell {
  return rootOf(job.cell!);
}

/**
 * Steps a call over the cells; they change only if it is admitted.
 *
 * @throws What a reducer throws at bad input; the cells are unchanged.
 */
function step(
  { bound, argument, several, at, cell }: Job,
  cells: ReadonlyMap<string, Cell>,
  now: number,
  counters: EngineCounters,
): Answer {
  const instant = at ?? now;
  if (bound !== undefined) return stepOne(bound, argument, cell!, instant, counters);
  if (several !== undefined) return stepSeveral(several, cells, instant, counters);
  forget(cell!);
  return undefined;
}

function stepOne(
  { steps, verb, family: { spec: { algorithm } } }: Bound,
  argument: unknown,
  cell: Cell,
  instant: number,
  counters: EngineCounters,
): Answer {
  const state = stateOf(cell, algorithm, counters) ?? algorithm.initial;
  const next = steps.next(state, instant, argument);
  const answer = steps.answer(state, next, instant, argument);
  if (next !== state) {
    put(cell, algorithm, next, keptFor(algorithm, next, instant, verb.decisionOf(answer)));
  }
  return answer;
}

function stepSeveral(
  { parts, isSingle }: Several,
  cells: ReadonlyMap<string, Cell>,
  instant: number,
  counters: EngineCounters,
): Answer {
  const moves: (() => void)[] = [];
  const states = parts.map((part) => {
    const { bound: { verb, family: { spec } }, name, older } = part;
    const cell = cells.get(name)!;
    const held = stateOf(cell, spec.algorithm, counters);
    if (held !== undefined) return held;
    const cellsOfOlder = older.map((name) => cells.get(name)!);
    const stateUnder = (index: number) =>
      stateOf(cellsOfOlder[index]!, spec.older[index]!.algorithm, counters);
    const taken = older.length === 0 ? undefined : takeOver(spec, stateUnder, instant);
    if (taken === undefined) return spec.algorithm.initial;
    // A look writes nothing; otherwise the next call would take over again, as if no time had passed.
    if (verb.kind !== "look") {
      moves.push(() => {
        const { decide } = splitReducer(spec.algorithm);
        const { resetAfter } = decide(taken.state, taken.state, instant, 0);
        put(cell, spec.algorithm, taken.state, resetAfter);
        forget(cellsOfOlder[taken.index]!);
      });
    }
    return taken.state;
  });
  const { answers, nexts } = transact(parts, states, instant);
  for (const move of moves) move();
  for (const [index, { bound: { verb, family: { spec } }, name }] of parts.entries()) {
    if (nexts[index] === states[index]) continue;
    const { algorithm } = spec;
    const decision = verb.decisionOf(answers[index]);
    const kept = keptFor(algorithm, nexts[index], instant, decision);
    put(cells.get(name)!, algorithm, nexts[index], kept);
  }
  return isSingle ? answers[0] : answers;
}

function stateOf(cell: Cell, algorithm: Algorithm, counters: EngineCounters): unknown {
  if (cell.read) return cell.state;
  cell.read = true;
  cell.state = algorithm.codec.decode(cell.held!);
  if (cell.state === undefined) {
    cell.unreadable = true;
    counters.unreadable++;
  }
  return cell.state;
}

function put(cell: Cell, algorithm: Algorithm, state: unknown, resetAfter: number): void {
  cell.read = true;
  cell.changed = true;
  cell.state = state;
  cell.algorithm = algorithm;
  cell.resetAfter = resetAfter;
}

function forget(cell: Cell): void {
  cell.read = true;
  cell.changed = true;
  cell.state = undefined;
  cell.algorithm = undefined;
}
