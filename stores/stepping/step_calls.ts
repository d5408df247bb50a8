/*
 * Steps calls over the cells of their keys, one after the other, in the order in which they came, as if
 * each had been alone. So many calls on one key are one write. Nothing in here touches a server or a
 * database.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { splitReducer } from "../../core/algorithms/split_reducer.ts";
import { boundedState, isAhead, MOST_AHEAD } from "../../core/bounded_state.ts";
import { takeOver } from "../../core/carry_over.ts";
import { keptFor } from "../../core/kept_for.ts";
import { transact } from "../../core/transact.ts";
import type { Answer, Bound, Call, Several } from "./call.ts";
import { type Cell, decodeText, discardChanges, encodeCell, rootOf, tieCells } from "./cell.ts";
import { cellOf, type Cells, cellsOf } from "./cells.ts";

/** Where values are counted that are not states of their algorithm. */
export interface ReadCounters {
  unreadable: number;
}

/** The time at which calls are decided. */
export interface StepTime {
  /** The instant at which calls without one of their own are decided. */
  readonly now: number;
  /** Whether every process that uses the keys takes the time from the same clock. */
  readonly isShared: boolean;
}

/** Fails a call. It has changed nothing. */
export type Fail<Of> = (call: Of, error: Error) => void;

/**
 * Decides calls in their order. A call whose reducer throws fails at once. Returns the other calls.
 */
export function stepCalls<Of extends Call>(
  calls: readonly Of[],
  cells: Cells,
  time: StepTime,
  counters: ReadCounters,
  fail: Fail<Of>,
): readonly Of[] {
  let failed: Set<Of> | undefined;
  for (const call of calls) {
    try {
      call.answer = step(call, cells, time, counters);
      if (call.several !== undefined) tieCells(cellsOf(call, cells));
    } catch (error) {
      (failed ??= new Set()).add(call);
      fail(call, error as Error);
    }
  }
  return failed === undefined ? calls : calls.filter((call) => !failed.has(call));
}

/**
 * Encodes the changed states. A call whose state cannot be encoded fails, and so do those that share
 * its cells. Returns the other calls.
 */
export function encodeCells<Of extends Call>(
  cells: Cells,
  stepped: readonly Of[],
  now: number,
  fail: Fail<Of>,
): readonly Of[] {
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
  return stepped.filter((call) => {
    const fault = faults.get(rootCellOf(call));
    if (fault === undefined) return true;
    fail(call, fault);
    return false;
  });
}

/** The cell that decides whether a call is committed. */
export function rootCellOf(call: Call): Cell {
  return rootOf(call.cell!);
}

/**
 * Steps a call over the cells. They change only if the call is admitted.
 *
 * @throws Any error of a reducer at bad input; the cells are unchanged.
 */
function step(
  { bound, argument, several, at, cell }: Call,
  cells: Cells,
  { now, isShared }: StepTime,
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
