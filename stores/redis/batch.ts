/*
 * A batch: what one transaction decides.
 *
 * Each key has a cell. Calls are stepped one after the other over the cells, as if each had been
 * alone; so many calls on one key are one write, and the order in which they came is the order in
 * which they are decided. Nothing in here touches the server.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { halvesOf } from "../../core/halves_of.ts";
import { transact } from "../../core/transact.ts";
import { type Cell, describe, emptyCell, leave, rootOf, tie } from "./cell.ts";
import type { Job } from "./job.ts";
import type { Counters } from "./store_parts.ts";

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

/** Calls of a batch, and the cells of their keys: what is stepped and put in words together. */
export interface Part {
  readonly jobs: readonly Job[];
  readonly cells: readonly Cell[];
  /** All cells of the batch by key, for calls that need several. */
  readonly cellOf: ReadonlyMap<string, Cell>;
  readonly asking: boolean;
}

/** A batch as one part. */
export function whole({ jobs, cells, asking }: Batch): Part {
  return { jobs, cells: [...cells.values()], cellOf: cells, asking };
}

/** Takes a call into a batch. */
export function enlist(job: Job, { jobs, cells }: Batch): void {
  const { keys, slot } = job;
  for (let place = 0; place < keys.length; place++) {
    const key = keys[place]!;
    let cell = cells.get(key);
    if (cell === undefined) cells.set(key, cell = emptyCell(key, slot, cells.size));
    if (place === 0) job.cell = cell;
  }
  jobs.push(job);
}

/** Whether a call can be in a batch with those in it, as far as one of them must be alone. */
export function canShare({ jobs, cells }: Batch, { alone, keys }: Job): boolean {
  if (jobs.length === 0 || !(alone || jobs[0]!.alone)) return true;
  return cells.size === keys.length && keys.every((key) => cells.has(key));
}

/**
 * Steps calls in their order, and answers those that have decisions now. One whose reducer throws is
 * told at once, and changes nothing.
 */
export function stepAll({ jobs, cellOf }: Part, now: number, counters: Counters): Job[] {
  const stepped: Job[] = [];
  for (const job of jobs) {
    try {
      job.decisions = step(job, cellOf, now, counters);
      stepped.push(job);
      if (job.keys.length > 1) tie(job.keys, cellOf);
    } catch (error) {
      job.fail(error as Error);
    }
  }
  return stepped;
}

/**
 * Puts all cells in words. Calls on one that cannot be put in words are told so, and change nothing;
 * the others are answered.
 */
export function describeAll(
  { cells }: Part,
  stepped: readonly Job[],
  now: number,
): readonly Job[] {
  const faults = new Map<Cell, Error>();
  for (const cell of cells) {
    try {
      describe(cell, now);
    } catch (error) {
      faults.set(rootOf(cell), error as Error);
    }
  }
  if (faults.size === 0) return stepped;
  for (const cell of cells) if (faults.has(rootOf(cell))) leave(cell);
  return stepped.filter((job) => {
    const fault = faults.get(fateOf(job));
    if (fault !== undefined) job.fail(fault);
    return fault === undefined;
  });
}

/** The cell on which a call's fate hangs. */
export function fateOf(job: Job): Cell {
  return rootOf(job.cell!);
}

/**
 * Steps a call over the cells; they change only if it is admitted.
 *
 * @throws What a reducer throws at bad input; the cells are unchanged.
 */
function step(
  { operations, keys, at, cell: own }: Job,
  cells: ReadonlyMap<string, Cell>,
  now: number,
  counters: Counters,
): readonly Decision[] {
  const instant = at ?? now;
  if (operations.length === 0) {
    for (const key of keys) forget(cells.get(key)!);
    return [];
  }
  const only = operations[0]!;
  if (operations.length === 1 && only.replaces === undefined) {
    const { algorithm, cost, dry } = only;
    const cell = own!;
    const { take, decide } = halvesOf(algorithm);
    const state = stateOf(cell, algorithm, counters) ?? algorithm.initial;
    const next = take(state, instant, cost);
    const decision = decide(state, next, instant, cost);
    if (next !== state && !dry) put(cell, algorithm, next, decision.resetAfter);
    return [decision];
  }
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

function stateOf(cell: Cell, algorithm: Algorithm, counters: Counters): unknown {
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
