/*
 * The way of a call: it waits in the queue of its node until the batch before is done, goes into the
 * next one with all others that came in the meantime, and is answered when that is committed. One
 * batch at a time, as what costs is the round trip and not the calls in it: the longer one takes,
 * the more calls share the next. By cas several may be under way where calls have many keys: see
 * batches_in_flight.ts.
 *
 * | what came of the batch | its calls |
 * |---|---|
 * | committed | are answered |
 * | a key was touched by others | try again at the head of the queue, at most MOST_TRIES times |
 * | the connection closed before anything was written | go into the next batch, on a new connection; the third time in a row it is an error |
 * | no reply, or an error | are told that they were not applied, and so are all that wait |
 * | the writes were sent, and no reply came | are told that nobody knows; they are not tried again |
 */

import { ContentionError } from "../../../core/errors.ts";
import { addJob, type Batch, canShare } from "./batch.ts";
import { ALL_ANSWERED, type BatchOutcome } from "./batch_outcome.ts";
import type { CircuitBreaker } from "../connections/circuit_breaker.ts";
import { casCommit } from "../commit/cas_commit.ts";
import { batchesInFlight } from "./batches_in_flight.ts";
import type { Job } from "./job.ts";
import { jobQueue, MOST_JOBS } from "./job_queue.ts";
import type { Reconnector } from "../connections/reconnector.ts";
import type { NodeConnection } from "../connections/node_connection.ts";
import type { StoreContext } from "../store_context.ts";
import type { BatchFailure } from "../failures/batch_failure.ts";
import { watchCommit } from "../commit/watch_commit.ts";

/** How often a call is tried before it is told of the contention. */
const MOST_TRIES = 256;
/** How likely a batcher that has won after losses leaves its keys to others for a moment. */
const COURTESY = 1 / 4;
/** After how many connections in a row that were lost without one answer the breaker opens. */
const MOST_BARREN = 3;

/** What runs the calls of one node. */
export interface Batcher {
  /** Takes a call in; it is answered later, whatever happens. */
  submit(job: Job): void;
  /** Whether no call waits or is under way. */
  isIdle(): boolean;
  /** Tells all that wait that the store is closed, and ends the connection. */
  close(): void;
}

/**
 * Makes the batcher of one node.
 *
 * @param moved Takes calls whose slot is on another node; without it that is an error.
 */
export function batcher(
  link: Reconnector,
  breaker: CircuitBreaker,
  parts: StoreContext,
  moved?: (jobs: readonly Job[], trouble: BatchFailure) => void,
): Batcher {
  const { deadline, dialDeadline, maxPending, counters, failJobs } = parts;
  const queue = jobQueue();
  const inFlight = batchesInFlight();
  let closed = false;
  /** Whether a batch is about to be made, as soon as there is a connection. */
  let starting = false;
  /** Whether keys are left to others for a moment. */
  let resting = false;
  /** Whether the batch under way is a watched transaction: there can be but one on a connection. */
  let exclusive = false;
  /** Calls that lost the race, and are tried again when all batches under way are back. */
  let toRetry: Job[] = [];
  /** Whether one of the batches under way has told of trouble: it is the same for the others. */
  let failing = false;
  /** Whether the connection is to be given up when all batches under way are back. */
  let mustReconnect = false;
  /** How many times in a row there were losers. */
  let lostRaces = 0;
  /** How many connections in a row were lost without one answer. */
  let emptyConnections = 0;
  /** The batch whose values are being loaded: calls on its keys may join it. */
  let loading: Batch | undefined;
  /** Ends the wait of calls that a dial keeps waiting. */
  let dialTimer: ReturnType<typeof setTimeout> | undefined;
  let dialling = false;

  function submit(job: Job): void {
    if (closed) return failJobs([job], "no", new Error("The store was closed"));
    if (loading !== undefined && breaker.untilProbe() === 0 && mayJoin(loading, job)) {
      addJob(job, loading);
      return;
    }
    if (queue.size >= maxPending) {
      return failJobs([job], "no", new Error(`${maxPending} calls wait already`));
    }
    if (!breaker.admits()) return failJobs([job], "no", new Error("It failed a moment ago"));
    if (dialling) job.waitsSince ||= performance.now();
    queue.add(job);
    if (dialling) startDialTimer();
    else start();
  }

  /** Has the next batch made in the next turn: callers just answered call again in this one. */
  function start(): void {
    if (starting || !maySend()) return;
    starting = true;
    setImmediate(next);
  }

  function maySend(): boolean {
    if (queue.size === 0 || resting) return false;
    if (inFlight.size === 0) return true;
    const isCalm = !exclusive && lostRaces === 0 && toRetry.length === 0 && !failing;
    return isCalm && inFlight.admits(queue.size) && !queue.first()!.watched;
  }

  /** Sends the next batch, and deals with what comes of it. */
  async function next(): Promise<void> {
    // Nobody may be waiting any more: then nobody is dialled.
    const node = link.current() ?? (maySend() ? await dial() : undefined);
    starting = false;
    // Callers who were told that there is no connection may have called again by now.
    if (node === undefined) return start();
    if (!maySend()) return;
    const hasFought = lostRaces > 0;
    const isCas = node.commit === "cas";
    const batch = queue.take(isCas, isCas && !hasFought ? inFlight.share(queue.size) : MOST_JOBS);
    exclusive = !isCas || batch.watched;
    inFlight.started(batch);
    const ending = run(node, batch);
    // Only now, so that its commands are written before the next batch is made.
    start();
    const end = await ending;
    inFlight.finished(batch);
    handleOutcome(end);
    if (lostRaces > 0) return startAtOnce();
    if (hasFought && Math.random() < COURTESY) {
      resting = true;
      await pause();
      resting = false;
    }
    start();
  }

  /** Has those who lost try again without a turn of the event loop: others take theirs meanwhile. */
  function startAtOnce(): void {
    if (starting || !maySend()) return;
    starting = true;
    void next();
  }

  /** A connection; without one nobody waits any more. */
  async function dial(): Promise<NodeConnection | undefined> {
    dialling = true;
    queue.markWaiting(performance.now());
    startDialTimer();
    try {
      return await link.connect();
    } catch (error) {
      breaker.failed();
      failJobs(queue.takeAll(), "no", error as Error);
      return undefined;
    } finally {
      dialling = false;
      clearTimeout(dialTimer);
      dialTimer = undefined;
    }
  }

  /** Sees to it that no call waits for a dial longer than it should. */
  function startDialTimer(): void {
    const patience = link.hasConnected() ? deadline : dialDeadline;
    const oldest = queue.first();
    if (dialTimer !== undefined || oldest === undefined) return;
    dialTimer = setTimeout(() => {
      dialTimer = undefined;
      const late = queue.takeWaitingSince(performance.now() - patience);
      if (late.length > 0) breaker.failed();
      failJobs(late, "no", new Error(`No connection within ${patience} ms`));
      startDialTimer();
    }, Math.max(1, oldest.waitsSince + patience - performance.now()));
  }

  async function run(node: NodeConnection, batch: Batch): Promise<BatchOutcome> {
    counters.batches++;
    if (!exclusive) {
      counters.roundTrips++;
      return await guarded(batch, casCommit(node, batch, answer, parts));
    }
    loading = batch;
    const watcher = { onLoaded: endOfLoading, answer };
    const end = await guarded(batch, watchCommit(node, batch, watcher, parts));
    endOfLoading();
    return end;
  }

  /** Tells callers what was decided; by then the server is known to be well. */
  function answer(jobs: readonly Job[]): void {
    if (jobs.length > 0) {
      emptyConnections = 0;
      breaker.succeeded();
    }
    counters.decisions += jobs.length;
    for (const job of jobs) job.resolve(job.answer);
  }

  function endOfLoading(): void {
    loading = undefined;
  }

  function handleOutcome({ conflicted, unapplied, unknown, failure }: BatchOutcome): void {
    counters.conflicts += conflicted.length;
    toRetry.push(...conflicted);
    if (failure !== undefined) handleFailure(failure, unapplied, unknown);
    if (inFlight.size > 0) return;
    if (mustReconnect) link.drop();
    mustReconnect = false;
    failing = false;
    lostRaces = toRetry.length > 0 ? lostRaces + 1 : 0;
    const jobs = toRetry;
    toRetry = [];
    tryAgain(jobs, (job) => {
      counters.contended++;
      job.reject(
        new ContentionError(
          `Cannot decide as its keys must be left alone for one round trip: others changed them ` +
            `${MOST_TRIES} times`,
        ),
      );
    });
  }

  /** Deals with what kept a batch from its end; of several that met with it the first tells the breaker. */
  function handleFailure(
    trouble: BatchFailure,
    unapplied: readonly Job[],
    unsure: readonly Job[],
  ): void {
    const { kind, error } = trouble;
    failJobs(unsure, "unknown", error);
    if (kind === "moved" && moved !== undefined) return moved(unapplied, trouble);
    const isFirst = !failing;
    failing = true;
    // Others under way may still be told by an error that they were not applied.
    if (kind === "refused") mustReconnect = true;
    else link.drop();
    if (kind === "lost" && (isFirst ? ++emptyConnections : emptyConnections) < MOST_BARREN) {
      return tryAgain(unapplied, (job) => failJobs([job], "no", error));
    }
    if (isFirst) breaker.failed();
    const waiting = [...unapplied, ...toRetry, ...queue.takeAll()];
    toRetry = [];
    failJobs(waiting, "no", error);
  }

  function tryAgain(jobs: readonly Job[], tooOften: (job: Job) => void): void {
    if (closed) return failJobs(jobs, "no", new Error("The store was closed"));
    const again: Job[] = [];
    for (const job of jobs) {
      if (++job.tries < MOST_TRIES) again.push(job);
      else tooOften(job);
    }
    queue.addFirst(again);
  }

  return {
    submit,
    isIdle: () => queue.size === 0 && inFlight.size === 0 && !starting,
    close() {
      closed = true;
      link.close();
      failJobs(queue.takeAll(), "no", new Error("The store was closed"));
    },
  };
}

/**
 * Whether all keys of a call are being loaded. If only some are, it has to wait, and so have those
 * after it: calls on a key are decided in the order in which they came.
 */
function mayJoin(batch: Batch, job: Job): boolean {
  const { jobs, cells } = batch;
  const fits = batch.asking === job.asking && canShare(batch, job) && jobs.length < MOST_JOBS;
  if (!fits) batch.open = false;
  if (!batch.open) return false;
  if (job.several === undefined) return cells.has(job.key);
  const { keys } = job.several;
  const loaded = keys.filter((key) => cells.has(key)).length;
  if (loaded > 0 && loaded < keys.length) batch.open = false;
  return loaded === keys.length;
}

/** What came of a batch. A fault in here, whatever it is, may have nobody wait for ever. */
async function guarded({ jobs }: Batch, end: Promise<BatchOutcome>): Promise<BatchOutcome> {
  try {
    return await end;
  } catch (error) {
    return { ...ALL_ANSWERED, unknown: jobs, failure: { kind: "lost", error: error as Error } };
  }
}

/**
 * A moment in which others may win. Whoever has lost tries again at once; but one whose guess is the
 * newest value wins again and again, and in the end others would be told of contention who only had
 * the longer way. Leaving each time would cost a third of all decisions on a hot key, and one time
 * in four is enough.
 */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
