import { type Cell, rootOf, stepJob, tie } from "./batch.ts";
import type { Command } from "./connection.ts";
import type { Job } from "./job.ts";
import type { KnownValues } from "./known_values.ts";

/** Milliseconds by which a value outlives its use: more than clocks differ and processes stall. */
const MARGIN = 5_000;

/**
 * Steps calls in their order, and answers those that have decisions now. One whose reducer throws is
 * told at once, and changes nothing.
 */
export function stepAll(
  jobs: readonly Job[],
  cells: ReadonlyMap<string, Cell>,
  now: number,
  known: KnownValues,
): Job[] {
  const stepped: Job[] = [];
  for (const job of jobs) {
    try {
      job.decisions = stepJob(job, cells, now, known);
      stepped.push(job);
      if (job.keys.length > 1) tie(job.keys, cells);
    } catch (error) {
      job.fail(error as Error);
    }
  }
  return stepped;
}

/** Milliseconds that a value is kept. */
export function timeToLive({ resetAfter }: Cell): string {
  return String(Math.ceil(resetAfter) + MARGIN);
}

/** The command that replaces a cell's value. */
export function commandOf(cell: Cell): Command {
  return cell.next === undefined
    ? ["DEL", cell.key]
    : ["SET", cell.key, cell.next, "PX", timeToLive(cell)];
}

/** The cell on which a call's fate hangs. */
export function fateOf(job: Job, cells: ReadonlyMap<string, Cell>): Cell {
  return rootOf(cells.get(job.keys[0]!)!);
}
