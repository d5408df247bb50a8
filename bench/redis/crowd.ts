import { reportOf } from "../../.ci/report_of.mjs";
import type { Run, Workload } from "./load.ts";

/**
 * Milliseconds before the clock starts, in which each process starts and calls. It compiles its
 * functions in the first seconds, which costs more than the calls do.
 */
const WARM_UP = 12_000;

/**
 * Several processes at once, 64 calls in flight in each; what they did together.
 *
 * @param file The program that each of them runs.
 */
export async function crowd(
  processes: number,
  name: string,
  url: string,
  workload: Workload,
  milliseconds: number,
  file = new URL("./process.ts", import.meta.url),
): Promise<Run> {
  const start = String(Date.now() + WARM_UP);
  const args = [name, url, workload, String(milliseconds), start];
  const runs: Run[] = await Promise.all(
    Array.from({ length: processes }, () => reportOf(file, args)),
  );
  const sum = (of: (run: Run) => number) => runs.reduce((total, run) => total + of(run), 0);
  return {
    decisions: sum((run) => run.decisions),
    seconds: Math.max(...runs.map((run) => run.seconds)),
    p99: Math.max(...runs.map((run) => run.p99)),
    longest: Math.max(...runs.map((run) => run.longest)),
    roundTrips: sum((run) => run.roundTrips),
    client: sum((run) => run.client),
  };
}
