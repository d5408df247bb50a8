/*
 * Answers jobs that a server did not decide.
 */

import { type FailureOptions, failurePolicy } from "../stepping/failure_policy.ts";
import type { Answer } from "../stepping/call.ts";
import { storeClosedError } from "./batch_failure.ts";
import type { EngineContext } from "./engine_context.ts";
import type { Job } from "./job.ts";
import type { ServerCounters } from "./server_statistics.ts";

/**
 * Makes the functions that answer jobs which the server did not decide.
 *
 * @param server The server's name in errors.
 * @param untilProbe Milliseconds until a slot's server is tried again.
 */
export function failedJobs(
  server: string,
  options: FailureOptions,
  counters: Pick<ServerCounters, "unavailable" | "overloaded">,
  untilProbe: (slot: number) => number,
): Pick<EngineContext, "failJobs" | "closeJobs" | "refuseJob"> {
  const policy = failurePolicy(server, options, counters);
  return {
    failJobs(jobs, applied, cause) {
      for (const job of jobs) {
        settle(job, () => {
          const wait = Math.max(1, Math.ceil(untilProbe(job.slot)));
          return policy.unavailable(job, applied, cause, wait);
        });
      }
    },
    closeJobs(jobs) {
      for (const job of jobs) {
        settle(job, () => {
          throw policy.closed(storeClosedError());
        });
      }
    },
    refuseJob: (job) => settle(job, () => policy.overloaded(job)),
  };
}

/** Settles a job by what a function returns or throws, unless it is settled. */
function settle(job: Job, answer: () => Answer): void {
  if (job.settled) return;
  job.settled = true;
  try {
    job.resolve(answer());
  } catch (error) {
    job.reject(error as Error);
  }
}
