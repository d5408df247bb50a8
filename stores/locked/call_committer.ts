import { DriverError } from "../driver.ts";
import type { FailurePolicy } from "../stepping/failure_policy.ts";
import type { LockedTransaction } from "./locked_transaction.ts";
import { type LockedCall, type LockedCounters, transactCalls } from "./transact_calls.ts";

/** Keys that are written between two sweeps, which look for keys to delete. */
const SWEEP_AFTER = 128;
/** Keys that a sweep examines. It has seen all keys after half as many writes as there are keys. */
const SWEEP_KEYS = 256;

const UNKNOWN_FAILURE = { applied: "unknown", scope: "server" } as const;

/** Milliseconds after which a call that a policy refused may come again. */
const RETRY_AFTER = 50;

/** Makes the function that decides calls in one transaction. Each then has an answer or a failure. */
export function callCommitter(
  driver: LockedTransaction,
  counters: LockedCounters,
  policy: FailurePolicy,
): (calls: readonly LockedCall[]) => void {
  let written = 0;

  function commit(calls: readonly LockedCall[]): void {
    try {
      const { decided, writes } = transactCalls(driver, calls, counters);
      counters.batches++;
      counters.decisions += decided;
      if (writes > 0) tidy(writes);
    } catch (error) {
      const { applied, scope } = error instanceof DriverError ? error : UNKNOWN_FAILURE;
      if (scope === "call" && applied === "no" && calls.length > 1) {
        // One of the calls may be at fault, so try each alone.
        for (const call of calls) commit([call]);
      } else for (const call of calls) answerByPolicy(call, applied, error);
    }
  }

  /** Answers a call that was not decided, unless it has failed by itself. */
  function answerByPolicy(call: LockedCall, applied: "no" | "unknown", cause: unknown): void {
    if (call.failure !== undefined) return;
    try {
      call.answer = policy.unavailable(call, applied, cause, RETRY_AFTER);
    } catch (error) {
      call.failure = error as Error;
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
