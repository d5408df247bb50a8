import assert from "node:assert/strict";
import { test } from "node:test";

import { batchesInFlight } from "../../../stores/optimistic/batches_in_flight.ts";
import { circuitBreaker } from "../../../stores/optimistic/circuit_breaker.ts";
import type { EngineContext } from "../../../stores/optimistic/engine_context.ts";
import {
  handleFailure,
  handleReturn,
  keepForRetry,
  keepWaiting,
  newOutcomes,
  type Outcomes,
} from "../../../stores/optimistic/handle_outcome.ts";
import { type Job, newJob } from "../../../stores/optimistic/job.ts";
import { drainQueue, jobQueue } from "../../../stores/optimistic/job_queue.ts";
import { serverCounters } from "../../../stores/optimistic/server_statistics.ts";
import { reconnector } from "../../../stores/optimistic/reconnector.ts";

/** The outcomes of a server that nobody connects to. */
function outcomes(): Outcomes {
  const context: EngineContext = {
    deadline: 1_000,
    longestDeadline: 1_000,
    connectDeadline: 1_000,
    timeout: 2 ** 31 - 1,
    maxPending: 10,
    counters: serverCounters(),
    failJobs: (jobs, _, cause) => jobs.forEach((job) => job.reject(cause)),
    closeJobs: () => {},
    refuseJob: () => {},
  };
  const server = reconnector(() => new Promise(() => {}), context, circuitBreaker());
  return newOutcomes(server, jobQueue(), batchesInFlight(), () => {});
}

function jobThat(reject: (error: Error) => void): Job {
  const space = { text: "", nameOf: (key: string) => key };
  const turn = { end: undefined };
  return newJob(space, "key", 0, 0, undefined, 1, undefined, turn, () => {}, reject);
}

/** How often a call is tried that comes back so each time; at most 1,000 times. */
function triesOf(keep: (state: Outcomes, jobs: readonly Job[]) => void): number {
  const state = outcomes();
  let failure: Error | undefined;
  const job = jobThat((error) => failure = error);
  for (let tries = 1; tries < 1_000; tries++) {
    keep(state, [job]);
    handleReturn(state);
    if (failure !== undefined) return tries;
    assert.deepEqual(drainQueue(state.queue), [job]);
  }
  return 1_000;
}

test("a call that yields to a claim waits for as long as its time lasts; one that loses races, 256 times", () => {
  assert.equal(triesOf(keepWaiting), 1_000);
  assert.equal(triesOf(keepForRetry), 256);
});

test("batches that fail together are one failure of their server", () => {
  const state = outcomes();
  const fail = () =>
    handleFailure(state, [jobThat(() => {})], {
      kind: "refused",
      applied: "no",
      error: new Error("busy"),
    });
  fail();
  fail();
  assert.equal(state.server.breaker.failures, 1);
  handleReturn(state);
  fail();
  assert.equal(state.server.breaker.failures, 2);
});
