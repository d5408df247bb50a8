/*
 * The consequences of a batch that came back:
 *
 * | outcome of the batch | its calls |
 * |---|---|
 * | committed | were answered |
 * | others changed a key | try again at the head of the queue, at most MAX_TRIES times |
 * | the connection closed before anything was written | go into the next batch, on a new connection; the third time in a row they fail |
 * | the server takes no writes | calls that only read try again, other calls fail as not applied |
 * | no reply, or an error that affects every call | fail as not applied, and so do all waiting calls |
 * | an error to a transaction of several keys | try again, each alone with calls on the same keys |
 * | the same to a call sent alone | fails as not applied |
 * | the writes were sent, and no reply came | fail as perhaps applied; they are not tried again |
 */

import { ContentionError } from "../../core/errors.ts";
import type { BatchesInFlight } from "./batches_in_flight.ts";
import { postponeProbe, recordFailure, recordSuccess } from "./circuit_breaker.ts";
import { dropConnection, type Reconnector } from "./reconnector.ts";
import type { BatchFailure } from "./batch_failure.ts";
import { expectedRoundTrip } from "./round_trips.ts";
import { isReadOnly } from "../stepping/call.ts";
import { type Job, keySet, waitsSince } from "./job.ts";
import { drainIf, enqueueFirst, type JobQueue } from "./job_queue.ts";
import { performance } from "../own_timers.ts";

/** How often a call is tried before it fails with a `ContentionError`. */
const MAX_TRIES = 256;
/** The part of a call's time that a silence may last before the server is the reason for it. */
const BRIEF = 1 / 4;
/** The lost connections in a row, without one answer, after which the breaker opens. */
const MAX_EMPTY_CONNECTIONS = 3;

/** The outcomes of the batches to one server, until all batches under way are back. */
export interface Outcomes {
  readonly server: Reconnector;
  readonly queue: JobQueue;
  readonly inFlight: BatchesInFlight;
  /** Receives calls whose slot is on another node. */
  readonly moved: (jobs: readonly Job[], error: Error) => void;
  /** Calls that lost the race for a key. They are tried again together, in their order. */
  toRetry: Job[];
  /** How many calls of `toRetry` wait for another process that has claimed a key. */
  waiting: number;
  /** Whether a batch has failed: later failures of batches under way belong to the same outage. */
  failing: boolean;
  /** Whether to close the connection once all batches are back. */
  mustReconnect: boolean;
  /** How many times in a row calls have lost a race. */
  lostRaces: number;
  /** How many connections in a row were lost without one answer. */
  emptyConnections: number;
}

/**
 * Whether another batch may be sent beside those under way: only without a failure or a lost race.
 */
export function canPipeline({ server, lostRaces, toRetry, failing }: Outcomes): boolean {
  return lostRaces === 0 && toRetry.length === 0 && !failing && server.breaker.failures === 0;
}

/** Answers decided calls, which also shows that the server answers. */
export function answerJobs(state: Outcomes, jobs: readonly Job[]): void {
  const { breaker, context } = state.server;
  if (jobs.length > 0) state.emptyConnections = 0;
  // An answer for which nobody waits any more came too late, and a read that succeeds does not show
  // that writes work again.
  const counts = (job: Job) => !job.settled && !(breaker.answersLooks && isReadOnly(job));
  if (breaker.failures > 0 && jobs.some(counts)) recordSuccess(breaker);
  context.counters.decisions += jobs.length;
  for (const job of jobs) {
    job.settled = true;
    job.resolve(job.answer);
  }
}

/** Keeps calls that lost a race until all batches under way are back. */
export function keepForRetry(state: Outcomes, jobs: readonly Job[]): void {
  state.server.context.counters.conflicts += jobs.length;
  for (const job of jobs) job.races++;
  state.toRetry.push(...jobs);
}

/** Keeps calls that yield to a process that has claimed a key, until all batches are back. */
export function keepWaiting(state: Outcomes, jobs: readonly Job[]): void {
  for (const job of jobs) {
    // Such a call makes no claim of its own, because writing it would cost the claimant the race.
    job.races = Math.max(job.races, 1);
    // The wait does not count as a try: it ends with the claim, or with the call's time.
    job.tries--;
  }
  state.waiting += jobs.length;
  state.toRetry.push(...jobs);
}

/** Fails a call because others changed its keys, or kept them locked. Nothing was charged. */
function failContended({ context, breaker }: Reconnector, job: Job): void {
  if (job.settled) return;
  const outage = job.lockedOut ?? breaker.cause;
  if (outage !== undefined) return context.failJobs([job], "no", outage);
  context.counters.contended++;
  job.settled = true;
  job.reject(
    new ContentionError(
      `Cannot decide as its keys must stay the same for one round trip in ${context.timeout} ms: ` +
        `other calls changed them ${job.races === 1 ? "once" : `${job.races} times`}`,
    ),
  );
}

/** Fails a call whose time is over. */
export function failLateJob(state: Outcomes, job: Job, applied: "no" | "unknown"): void {
  const { server, inFlight: { batches, sentAt }, lostRaces } = state;
  const { breaker, context } = server;
  const isContended = applied === "no" && (job.races > 0 || lostRaces > 0);
  // A batch that should have been back holds the call up, and not those that win races.
  const silence = batches.length === 0 ? 0 : performance.now() - sentAt;
  const brief = Math.max(BRIEF * context.timeout, expectedRoundTrip(breaker.trips));
  if (isContended && silence <= brief) return failContended(server, job);
  const late = new Error(`The call took more than ${context.timeout} ms`);
  context.failJobs([job], applied, job.lockedOut ?? breaker.cause ?? late);
}

/** Tries calls that lost a race again, after the last batch that was under way. */
export function handleReturn(state: Outcomes): void {
  const { server, inFlight } = state;
  if (inFlight.batches.length > 0) return;
  if (state.mustReconnect) dropConnection(server);
  state.mustReconnect = false;
  state.failing = false;
  const jobs = drainRetries(state);
  if (jobs.length === 0) {
    state.lostRaces = 0;
    return;
  }
  state.lostRaces++;
  // A try whose reply would come too late might be charged without an answer.
  const latest = performance.now() + server.breaker.trips.smoothed - server.context.timeout;
  for (const job of jobs) if (waitsSince(job) <= latest) failContended(server, job);
  retry(state, jobs, (job) => failContended(server, job));
}

/** Handles a failed batch. If several batches fail, only the first failure goes to the breaker. */
export function handleFailure(
  state: Outcomes,
  jobs: readonly Job[],
  { kind, applied, error }: BatchFailure,
): void {
  const { server, queue } = state;
  const { failJobs } = server.context;
  if (applied === "unknown") failJobs(jobs, "unknown", error);
  const unapplied = applied === "no" ? jobs : [];
  if (kind === "rejected") {
    // The server rejects these calls, but it answers.
    if (!server.breaker.answersLooks) recordSuccess(server.breaker);
    return handleRejection(state, unapplied, error);
  }
  if (kind === "moved") return state.moved(unapplied, error);
  const isFirst = !state.failing;
  state.failing = true;
  // Keep the connection until all batches are back. Replies may still show that they were not applied.
  if (kind === "refused" || kind === "unwritable") state.mustReconnect = true;
  else dropConnection(server);
  if (kind === "lost") {
    if (isFirst) state.emptyConnections++;
    if (state.emptyConnections < MAX_EMPTY_CONNECTIONS) {
      return retry(state, unapplied, (job) => failJobs([job], "no", error));
    }
  }
  // The breaker has known of a silence since the silence began.
  if (isFirst && kind === "silent") postponeProbe(server.breaker);
  else if (isFirst) recordFailure(server.breaker, error, kind === "unwritable");
  // Waiting reads have not failed.
  const waiting = drainIf(queue, (job) => kind !== "unwritable" || !isReadOnly(job));
  const left = [...unapplied, ...drainRetries(state), ...waiting];
  if (kind !== "unwritable") return failJobs(left, "no", error);
  failJobs(left.filter((job) => !isReadOnly(job)), "no", error);
  retry(state, left.filter(isReadOnly), (job) => failJobs([job], "no", error));
}

/** Tries the calls of a rejected transaction again, each apart. A call that was sent alone fails. */
function handleRejection(state: Outcomes, jobs: readonly Job[], error: Error): void {
  const { failJobs } = state.server.context;
  if (new Set(jobs.map(keySet)).size === 1) return failJobs(jobs, "no", error);
  for (const job of jobs) job.alone = true;
  retry(state, jobs, (job) => failJobs([job], "no", error));
}

function drainRetries(state: Outcomes): readonly Job[] {
  const jobs = state.toRetry;
  state.toRetry = [];
  state.waiting = 0;
  return jobs;
}

function retry(
  { server, queue }: Outcomes,
  jobs: readonly Job[],
  tooOften: (job: Job) => void,
): void {
  if (server.closed) return server.context.closeJobs(jobs);
  const again: Job[] = [];
  for (const job of jobs) {
    if (job.settled) continue;
    if (++job.tries < MAX_TRIES) again.push(job);
    else tooOften(job);
  }
  enqueueFirst(queue, again);
}
