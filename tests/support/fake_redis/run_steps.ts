/*
 * The effect of one script call on its keys, by the reducers that the script repeats. Only limits by
 * arrival time and their charges are known; tests of other formulas run the script on a real server.
 */

import type { Algorithm, Formula } from "../../../core/algorithm.ts";
import { gcra } from "../../../core/algorithms/gcra.ts";
import { isAhead, MOST_AHEAD } from "../../../core/bounded_state.ts";
import { DIGITS, SET_INSTANT, TAKE, ZERO } from "../../../stores/redis/script/words.ts";
import { type Cell, decodeText } from "../../../stores/stepping/cell.ts";

/** The numbers that `encodeCounts` was given. */
export function countsOf(letters: string): readonly number[] {
  const digits = [...letters].map((letter) => letter.charCodeAt(0) - ZERO);
  return Array.from(
    { length: digits.length / 2 },
    (_, at) => digits[at * 2]! * DIGITS + digits[at * 2 + 1]!,
  );
}

/** Takes the steps in their order. */
export function takeSteps(
  formulas: readonly Formula[],
  steps: readonly number[],
  cells: readonly Cell[],
  now: number,
): void {
  let instant = now;
  for (let at = 0; at < steps.length;) {
    const [word, first, formula, cost, times] = steps.slice(at) as [number, number, ...number[]];
    if (word === TAKE) take(cells[first]!, formulas[formula!]!, instant, cost!, times!);
    else if (word === SET_INSTANT) instant = first < 0 ? now : first;
    else throw new Error(`The fake server does not know the word ${word}`);
    at += word === TAKE ? 5 : 2;
  }
}

/** Takes a cost from a key that many times, until it is refused. */
function take(cell: Cell, formula: Formula, instant: number, cost: number, times: number): void {
  const [algorithm, step] = reducerOf(formula);
  if (!cell.read) cell.state = decodeText(cell.held!, algorithm);
  cell.read = true;
  const held = cell.state ?? algorithm.initial;
  let state = held;
  for (let turn = 0; turn < times; turn++) {
    const next = step(state, instant, cost)[1];
    if (next === state) break;
    state = next;
  }
  if (state === held) return;
  const { resetAfter } = algorithm.step(state, instant, 0)[0];
  const owes = isAhead(algorithm, state, instant, MOST_AHEAD);
  Object.assign(cell, { state, algorithm, resetAfter, owes, changed: true });
}

/** The algorithm of a formula, and its reducer. */
function reducerOf(formula: Formula): readonly [Algorithm, Algorithm["step"]] {
  if (formula[0] === "charge") {
    const [algorithm] = reducerOf(formula[1] as Formula);
    return [algorithm, algorithm.charge];
  }
  if (formula[0] !== "ticks") throw new Error(`The fake server does not know ${formula[0]}`);
  const [, limit, , period, burst] = formula as [string, number, number, number, number];
  const algorithm: Algorithm = gcra({ limit, period, burst });
  return [algorithm, algorithm.step];
}
