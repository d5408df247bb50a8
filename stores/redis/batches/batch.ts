/*
 * A batch: what one transaction decides.
 *
 * Each key has a cell. Calls are stepped one after the other over the cells, as if each had been
 * alone; so many calls on one key are one write, and the order in which they came is the order in
 * which they are decided. Nothing in here touches the server.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { halvesOf } from "../../../core/algorithms/halves_of.ts";
import type { Operation } from "../../../core/store.ts";
import { transact } from "../../../core/transact.ts";
import { type Cell, discardChanges, emptyCell, encodeCell, rootOf, tieCells } from "./cell.ts";
import { type Answer, type Job, keysOf, type Several } from "./job.ts";
import type { RedisCounters } from "../store_context.ts";

/** What one batch is made of. */
export interface Batch {
  readonly jobs: Job[];
  /** The cells of all their keys. */
  readonly cells: Map<string, Cell>;
  /** Whether the slot is being moved to this node, which must be told so. */
  readonly asking: boolean;
  /** Whether its calls must be committed by WATCH, whatever the mode. */
  readonly watched: boolean;
  /** Whether calls may join it while its values are loaded: not if they would overtake others. */
  open: boolean;
}

/** Takes a call into a batch. */
export function addJob(job: Job, { jobs, cells }: Batch): void {
  const { key, slot, several } = job;
  job.cell = cellIn(cells, key, slot);
  if (several !== undefined) { for (const each of several.keys) cellIn(cells, each, slot); }
  jobs.push(job);
}

/** The cell of a key; an empty one if it is new. */
function cellIn(cells: Map<string, Cell>, key: string, slot: number): Cell {
  let cell = cells.get(key);
  if (cell === undefined) cells.set(key, cell = emptyCell(key, slot, cells.size));
  return cell;
}

/** Whether a call can be in a batch with those in it, as far as one of them must be alone. */
export function canShare({ jobs, cells }: Batch, job: Job): boolean {
  if (jobs.length === 0 || !(job.alone || jobs[0]!.alone)) return true;
  const keys = keysOf(job);
  return cells.size === keys.length && keys.every((key) => cells.has(key));
}

/**
 * Steps calls in their order, and answers those that have decisions now. One whose reducer throws is
 * told at once, and changes nothing.
 */
export function stepAll(
  { jobs, cells }: Batch,
  now: number,
  counters: RedisCounters,
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

/**
 * Puts all cells in words. Calls on one that cannot be put in words are told so, and change nothing;
 * the others are answered.
 */
export function encodeAll(
  { cells }: Batch,
  stepped: readonly Job[],
  now: number,
): readonly Job[] {
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

/** The cell on which a call's fate hangs. */
export function rootCellOf(job: Job): Cell {
  return rootOf(job.cell!);
}

/**
 * Steps a call over the cells; they change only if it is admitted.
 *
 * @throws What a reducer throws at bad input; the cells are unchanged.
 */
function step(
  { one, several, at, cell }: Job,
  cells: ReadonlyMap<string, Cell>,
  now: number,
  counters: RedisCounters,
): Answer {
  const instant = at ?? now;
  if (one !== undefined) return stepOne(one, cell!, instant, counters);
  if (several !== undefined) return stepSeveral(several, cells, instant, counters);
  forget(cell!);
  return undefined;
}

function stepOne(
  { algorithm, cost, dry }: Operation,
  cell: Cell,
  instant: number,
  counters: RedisCounters,
): Decision {
  const { take, decide } = halvesOf(algorithm);
  const state = stateOf(cell, algorithm, counters) ?? algorithm.initial;
  const next = take(state, instant, cost);
  const decision = decide(state, next, instant, cost);
  if (next !== state && !dry) put(cell, algorithm, next, decision.resetAfter);
  return decision;
}

function stepSeveral(
  { operations }: Several,
  cells: ReadonlyMap<string, Cell>,
  instant: number,
  counters: RedisCounters,
): readonly Decision[] {
  const { decisions, writes } = transact(
    operations,
    (key, algorithm) => stateOf(cells.get(key)!, algorithm, counters),
    instant,
  );
  for (const { key, algorithm, state, resetAfter } of writes) {
    put(cells.get(key)!, algorithm, state, resetAfter);
  }
  return decisions;
}

function stateOf(cell: Cell, algorithm: Algorithm, counters: RedisCounters): unknown {
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
