import { StoreUnavailableError } from "../../core/errors.ts";
import { DriverError } from "../driver.ts";
import { keyBeginning } from "../driver_keys.ts";
import type { EngineContext } from "../optimistic/engine_context.ts";
import type { Job } from "../optimistic/job.ts";
import type { LockedTransaction } from "./locked_transaction.ts";
import { type LockedCounters, transactJobs } from "./transact_jobs.ts";

/** Keys that are written between two sweeps, which look for keys to delete. */
const SWEEP_AFTER = 128;
/** Keys that a sweep examines. It has seen all keys after half as many writes as there are keys. */
const SWEEP_KEYS = 256;

const UNKNOWN_FAILURE = { applied: "unknown", scope: "server", rule: "answer" } as const;

/** Makes the function that decides calls in one transaction, and answers them. */
export function jobCommitter(
  driver: LockedTransaction,
  counters: LockedCounters,
  failJobs: EngineContext["failJobs"],
): (jobs: readonly Job[]) => void {
  let written = 0;

  function commit(jobs: readonly Job[]): void {
    try {
      const { decided, writes } = transactJobs(driver, jobs, counters);
      counters.batches++;
      counters.decisions += decided.length;
      for (const job of decided) settle(job);
      if (writes > 0) tidy(writes);
    } catch (error) {
      const { applied, scope } = error instanceof DriverError ? error : UNKNOWN_FAILURE;
      if (scope === "call" && applied === "no" && jobs.length > 1) {
        // One of the calls may be at fault, so try each alone.
        for (const job of jobs) commit([job]);
      } else failJobs(jobs, applied, error as Error);
    }
  }

  function tidy(writes: number): void {
    counters.writes += writes;
    written += writes;
    if (driver.sweep === undefined || written < SWEEP_AFTER) return;
    written = 0;
    try {
      driver.sweep(SWEEP_KEYS);
    } catch {
      // Ignore a failed sweep: the calls were decided, and the next sweep comes soon.
    }
  }

  return commit;
}

function settle(job: Job): void {
  job.settled = true;
  job.resolve(job.answer);
}

/** Deletes the keys of a prefix, by a driver that can. */
export function deleteKeys(driver: LockedTransaction, prefix: string): void {
  try {
    driver.deletePrefix!(keyBeginning(prefix));
  } catch (cause) {
    const { applied, rule } = cause instanceof DriverError ? cause : UNKNOWN_FAILURE;
    const message = `Cannot delete the keys of a prefix as ${driver.name} must ${rule}`;
    throw new StoreUnavailableError(message, applied, { cause });
  }
}
