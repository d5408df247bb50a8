/*
 * Makes the arguments of a script call from the calls that share it. words.ts lists the words.
 */

import type { Formula } from "../../../core/algorithm.ts";
import { cellOf, type Cells } from "../../stepping/cells.ts";
import type { Bound } from "../../stepping/call.ts";
import type { Job } from "../../optimistic/job.ts";
import { encodeCounts, FORGET, SET_INSTANT, TAKE, TAKE_ALL } from "./words.ts";

/** The steps of a script call, before they become text. */
interface Draft {
  readonly cells: Cells;
  readonly formulas: Formula[];
  readonly steps: number[];
  /** The beginning of each key's last step, if another call may still join that step. */
  readonly last: number[];
  /** The instant of the next steps; if it is negative, the server's. */
  instant: number;
}

/**
 * The arguments of a script call after its keys. The first is the instant. If all calls have one
 * formula and one cost, the cost follows, how often it is taken from each key, and the words of the
 * formula. Otherwise the formulas and the steps of the calls follow as JSON, which the server reads
 * more slowly.
 *
 * @param cells The cells of their keys, in the order of the keys of the script call.
 * @param count The number of keys of the script call.
 * @param now The instant at which to decide; if it is negative, the server's time.
 */
export function scriptArguments(
  jobs: readonly Job[],
  cells: Cells,
  count: number,
  now: number,
): readonly string[] {
  const same = sameOfAll(jobs, count, now);
  if (same !== undefined) return same;
  const draft: Draft = { cells, formulas: [], steps: [], last: [], instant: -1 };
  for (const job of jobs) addJob(draft, job);
  const { formulas, steps } = draft;
  return [`${now}`, `[${JSON.stringify(formulas)}${steps.map((word) => `,${word}`).join("")}]`];
}

/** The arguments of calls with one formula and one cost; `undefined` if they have several. */
function sameOfAll(
  jobs: readonly Job[],
  count: number,
  now: number,
): readonly string[] | undefined {
  const times = new Array<number>(count).fill(0);
  let formula: Formula | undefined;
  let common = 0;
  for (const { at, bound, argument, cell } of jobs) {
    if (bound === undefined || at !== undefined) return undefined;
    const cost = costOf(bound, argument);
    if (cost === 0) continue;
    const own = bound.formula!;
    if (formula === undefined) [formula, common] = [own, cost];
    if (own !== formula || cost !== common) return undefined;
    times[cell!.index]!++;
  }
  if (formula === undefined || formula[0] !== "ticks") return undefined;
  return [`${now}`, `${common}`, encodeCounts(times), ...formula.map(String)];
}

/** Units that the formula takes; negative if it gives them back. */
function costOf({ sign, verb }: Bound, argument: unknown): number {
  return sign === 0 ? 0 : sign * verb.units(argument);
}

function addJob(draft: Draft, { at = -1, bound, argument, several, cell }: Job): void {
  const { cells, steps, last } = draft;
  if (at !== draft.instant) {
    steps.push(SET_INSTANT, at);
    draft.instant = at;
    last.length = 0;
  }
  if (bound !== undefined) addTake(draft, bound, costOf(bound, argument), cell!.index);
  else if (several !== undefined) {
    steps.push(TAKE_ALL, several.parts.length);
    for (const part of several.parts) {
      const { bound, argument } = part;
      const { index } = cellOf(cells, part)!;
      const isLook = bound.verb.kind === "look";
      const cost = isLook ? bound.verb.units(argument) : costOf(bound, argument);
      steps.push(index, formulaOf(draft, bound), cost, isLook ? 1 : 0);
      last[index] = -1;
    }
  } else {
    steps.push(FORGET, cell!.index);
    last[cell!.index] = -1;
  }
}

/** Adds a call. Calls of one cost on a key are one step, whatever comes between them on other keys. */
function addTake(draft: Draft, bound: Bound, cost: number, index: number): void {
  const { steps, last } = draft;
  if (cost === 0) return;
  const formula = formulaOf(draft, bound);
  const at = last[index] ?? -1;
  if (at >= 0 && steps[at + 3] === cost && steps[at + 2] === formula) {
    steps[at + 4]!++;
    return;
  }
  last[index] = steps.length;
  steps.push(TAKE, index, formula, cost, 1);
}

function formulaOf({ formulas }: Draft, { formula }: Bound): number {
  const index = formulas.indexOf(formula!);
  return index === -1 ? formulas.push(formula!) - 1 : index;
}
