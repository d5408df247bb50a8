/*
 * What a script call is asked to do, made of the calls that share it: see run_steps.ts for the words.
 */

import type { Algorithm, Formula } from "../../../core/algorithm.ts";
import type { Operation } from "../../../core/old/old_store.ts";
import type { Cell } from "../batches/cell.ts";
import type { Job } from "../batches/job.ts";
import { encodeCounts, FORGET, SET_INSTANT, TAKE, TAKE_ALL } from "./run_steps.ts";

/** What is to be done, before it is written out. */
interface Draft {
  readonly cells: ReadonlyMap<string, Cell>;
  readonly formulas: Formula[];
  readonly steps: number[];
  /** Where the last step of each key begins that may be taken once more. */
  readonly last: number[];
  /** The instant of the steps that come next; below 0, the server's. */
  instant: number;
  /** The algorithm used last, and the index of its formula. */
  algorithm: Algorithm | undefined;
  formula: number;
}

/**
 * What a script call is given beside the keys, to do what calls ask for in their order: the instant,
 * and either the cost, how often it is taken of each key, and the words of the one formula, or the
 * formulas and steps as JSON, which takes the server longer to read.
 *
 * @param cells The cells of their keys, whose indices are those of the keys in the script call.
 * @param count How many keys the script call has.
 * @param now The instant to decide at; below 0, the server's time.
 */
export function scriptArguments(
  jobs: readonly Job[],
  cells: ReadonlyMap<string, Cell>,
  count: number,
  now: number,
): readonly string[] {
  const same = sameOfAll(jobs, count, now);
  if (same !== undefined) return same;
  const draft: Draft = {
    cells,
    formulas: [],
    steps: [],
    last: [],
    instant: -1,
    algorithm: undefined,
    formula: 0,
  };
  for (const job of jobs) addJob(draft, job);
  const { formulas, steps } = draft;
  return [`${now}`, `[${JSON.stringify(formulas)}${steps.map((word) => `,${word}`).join("")}]`];
}

/** The same, of calls that all have one formula and one cost; `undefined` of others. */
function sameOfAll(
  jobs: readonly Job[],
  count: number,
  now: number,
): readonly string[] | undefined {
  const times = new Array<number>(count).fill(0);
  let formula: Formula | undefined;
  let common = 0;
  for (const { at, one, cell } of jobs) {
    if (one === undefined || at !== undefined) return undefined;
    const { dry, cost, algorithm } = one;
    if (dry || cost === 0) continue;
    const own = algorithm.internals!.formula!;
    if (formula === undefined) [formula, common] = [own, cost];
    if (own !== formula || cost !== common) return undefined;
    times[cell!.index]!++;
  }
  if (formula === undefined || formula[0] !== "ticks") return undefined;
  return [`${now}`, `${common}`, encodeCounts(times), ...formula.map(String)];
}

function addJob(draft: Draft, { at = -1, one, several, cell }: Job): void {
  const { cells, steps, last } = draft;
  if (at !== draft.instant) {
    steps.push(SET_INSTANT, at);
    draft.instant = at;
    last.length = 0;
  }
  if (one !== undefined) addTake(draft, one, cell!.index);
  else if (several !== undefined) {
    steps.push(TAKE_ALL, several.operations.length);
    for (const { key, algorithm, cost, dry } of several.operations) {
      const { index } = cells.get(key)!;
      steps.push(index, formulaOf(draft, algorithm), cost, dry ? 1 : 0);
      last[index] = -1;
    }
  } else {
    steps.push(FORGET, cell!.index);
    last[cell!.index] = -1;
  }
}

/** Calls of the same cost on a key are one step, whatever comes in between on other keys. */
function addTake(draft: Draft, { algorithm, cost, dry }: Operation, index: number): void {
  const { steps, last } = draft;
  if (dry || cost === 0) return;
  const formula = formulaOf(draft, algorithm);
  const at = last[index] ?? -1;
  if (at >= 0 && steps[at + 3] === cost && steps[at + 2] === formula) {
    steps[at + 4]!++;
    return;
  }
  last[index] = steps.length;
  steps.push(TAKE, index, formula, cost, 1);
}

function formulaOf(draft: Draft, algorithm: Algorithm): number {
  if (draft.algorithm === algorithm) return draft.formula;
  const { formulas } = draft;
  const formula = algorithm.internals!.formula!;
  let index = formulas.indexOf(formula);
  if (index === -1) index = formulas.push(formula) - 1;
  draft.algorithm = algorithm;
  draft.formula = index;
  return index;
}
