import type { Decision } from "../../core/decision.ts";
import { type Cell, rootOf, stepJob, tie } from "./batch.ts";
import type { Command } from "./connection.ts";
import type { Job } from "./job.ts";
import type { KnownValues } from "./known_values.ts";

/** A call that was stepped, and what it is told once the batch is committed. */
export interface Stepped {
  readonly job: Job;
  readonly decisions: readonly Decision[];
}

/** Milliseconds by which a value outlives its use: more than clocks differ and processes stall. */
const MARGIN = 5_000;

/** Steps calls in their order. One whose reducer throws is told at once, and changes nothing. */
export function stepAll(
  jobs: readonly Job[],
  cells: ReadonlyMap<string, Cell>,
  now: number,
  known: KnownValues,
): Stepped[] {
  const stepped: Stepped[] = [];
  for (const job of jobs) {
    try {
      stepped.push({ job, decisions: stepJob(job, cells, now, known) });
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

/** The calls of what was stepped. */
export function jobsOf(stepped: readonly Stepped[]): Job[] {
  return stepped.map(({ job }) => job);
}
