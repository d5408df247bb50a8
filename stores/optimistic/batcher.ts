/*
 * Runs the calls on one server. A call waits in the server's queue until the batch under way is done.
 * It then goes into the next batch, with all other calls that came meanwhile, and is answered once
 * that batch is committed (handle_outcome.ts handles failures).
 *
 * There is one batch at a time, because a round trip costs time, and the calls in it cost little: the
 * longer it takes, the more calls share the next. If batches compare and set, and calls have many
 * keys, several may be under way: see batches_in_flight.ts.
 */

import { addJob, type Batch, mayJoin } from "./batch.ts";
import type { CommitCallbacks, Link } from "./driver.ts";
import {
  APART,
  batchesInFlight,
  batchFinished,
  batchStarted,
  leaveApart,
  MAX_BATCHES,
  mayStart,
} from "./batches_in_flight.ts";
import { withTimeout } from "../../core/with_timeout.ts";
import { outsideCallers } from "../outside_callers.ts";
import { admitsCall, recordFailure, untilProbe } from "./circuit_breaker.ts";
import { patientTimer } from "./patient_timer.ts";
import { replyDeadline } from "./round_trips.ts";
import { closeServer, connectTo, openConnection, type Reconnector } from "./reconnector.ts";
import { asError } from "../as_error.ts";
import {
  answerJobs,
  canPipeline,
  failLateJob,
  handleFailure,
  handleReturn,
  keepForRetry,
  keepWaiting,
  type Outcomes,
} from "./handle_outcome.ts";
import { isReadOnly } from "../stepping/call.ts";
import { type Job, waitsSince } from "./job.ts";
import { drainBatch, drainIf, enqueue, firstJob, jobQueue, MAX_JOBS } from "./job_queue.ts";
import { performance, setImmediate, setTimeout } from "../own_timers.ts";

/** The round trips that a new connection takes: of the socket, the client, and the store. */
const GREETINGS = 4;
/** The chance that a batcher that wins after lost races leaves its keys to others for a moment. */
const BACKOFF_CHANCE = 1 / 4;

/** The state of a batcher. */
interface BatcherState extends Outcomes {
  readonly callbacks: CommitCallbacks;
  /** Whether a batch will be made as soon as there is a connection. */
  starting: boolean;
  /** Whether the batcher leaves its keys to others for a moment. */
  resting: boolean;
  /** The batch that is loading its values. */
  loading: Batch | undefined;
  /** Whether calls on its keys may join it. They may not if they would overtake other calls. */
  joinable: boolean;
  /** Stops the timer that fails late calls; `undefined` while there is no call. */
  timer: (() => void) | undefined;
}

/**
 * Makes the batcher of one server.
 *
 * @param moved Takes calls whose slot is on another node.
 */
export function batcher(server: Reconnector, moved: Outcomes["moved"]) {
  const queue = jobQueue();
  const inFlight = batchesInFlight();
  const state: BatcherState = {
    server,
    queue,
    inFlight,
    moved,
    toRetry: [],
    waiting: 0,
    failing: false,
    mustReconnect: false,
    lostRaces: 0,
    emptyConnections: 0,
    callbacks: {
      onLoaded() {
        state.loading = undefined;
      },
      answer: (jobs) => answerJobs(state, jobs),
      tryAgain: (jobs) => keepForRetry(state, jobs),
      waitFor: (jobs) => keepWaiting(state, jobs),
      fail: (jobs, failure) => handleFailure(state, jobs, failure),
    },
    starting: false,
    resting: false,
    loading: undefined,
    joinable: false,
    timer: undefined,
  };
  return {
    /** Accepts a call, which is answered later, whatever happens. */
    submit: (job: Job): void => submit(state, job),
    /** Whether a call on a slot waits or is under way. */
    serves(slot: number): boolean {
      if (queue.slots.has(slot)) return true;
      return inFlight.batches.some(({ jobs }) => jobs[0]?.slot === slot);
    },
    /** Whether no call waits or is under way. */
    isIdle: (): boolean => queue.size === 0 && inFlight.batches.length === 0 && !state.starting,
    /** Fails all calls that wait, and closes the connection. */
    close(): void {
      closeServer(server);
      // Batches under way end with their connection, or at the deadline of their round trip.
      state.timer?.();
      server.context.closeJobs(drainIf(queue, () => true));
    },
  };
}

/** Runs the calls of one server. */
export type Batcher = ReturnType<typeof batcher>;

/** Looks for late calls after that many milliseconds. */
function startTimer(state: BatcherState, milliseconds: number): void {
  state.timer = patientTimer(milliseconds, () => {
    state.timer = undefined;
    const oldest = failLate(state);
    if (oldest === Infinity) return;
    const left = oldest + state.server.context.timeout - performance.now();
    startTimer(state, Math.max(1, Math.ceil(left)));
  }, false);
}

/** Fails late calls. Returns the instant since which the oldest other call has been under way. */
function failLate(state: BatcherState): number {
  const { server, queue, starting, inFlight, loading } = state;
  const { context: { timeout }, breaker } = server;
  const instant = performance.now() - timeout;
  let oldest = Infinity;
  function isLate(job: Job): boolean {
    const since = waitsSince(job);
    const { settled } = job;
    if (since > instant && !settled) oldest = Math.min(oldest, since);
    return since <= instant;
  }
  // Until the first connection, another time limit applies: see `connectOrFail`.
  if (starting && !breaker.hasConnected) oldest = performance.now();
  else for (const job of drainIf(queue, isLate)) failLateJob(state, job, "no");
  for (const batch of inFlight.batches) {
    // A key that is only being loaded was not charged, and will not be.
    const applied = batch === loading ? "no" : "unknown";
    for (const job of batch.jobs.filter(isLate)) failLateJob(state, job, applied);
  }
  return oldest;
}

function submit(state: BatcherState, job: Job): void {
  const { server: { breaker, closed, context }, queue, loading, joinable } = state;
  if (closed) return context.closeJobs([job]);
  if (state.timer === undefined) outsideCallers(startTimer, state, context.timeout);
  if (loading !== undefined && joinable && untilProbe(breaker) === 0) {
    const joins = mayJoin(loading, job, MAX_JOBS);
    if (joins === true) return addJob(job, loading);
    state.joinable = joins !== undefined;
  }
  if (queue.size >= context.maxPending) return context.refuseJob(job);
  if (!admitsCall(breaker, isReadOnly(job))) {
    return context.failJobs([job], "no", breaker.cause!);
  }
  enqueue(queue, job);
  // A probe makes a further attempt to connect, beside an attempt without an answer.
  if (state.starting && breaker.failures > 0) {
    outsideCallers(connectTo, state.server).catch(() => {});
  }
  start(state);
}

/**
 * Makes the next batch in the next turn, because callers that were just answered call again in this
 * one.
 */
function start(state: BatcherState): void {
  if (state.starting || !maySend(state)) return;
  state.starting = true;
  outsideCallers(() => setImmediate(next, state));
}

/**
 * Lets calls that lost a race try again at once. A turn of the event loop would let others win again.
 */
function startAtOnce(state: BatcherState): void {
  if (state.starting || !maySend(state)) return;
  state.starting = true;
  void next(state);
}

function maySend(state: BatcherState): boolean {
  const { queue, resting, inFlight } = state;
  if (queue.size === 0 || resting) return false;
  return mayStart(inFlight, queue.size) && (inFlight.batches.length === 0 || canPipeline(state));
}

/** Sends the next batch, and handles its outcome. */
async function next(state: BatcherState): Promise<void> {
  const { server, queue, inFlight } = state;
  // If no call waits any more, there is no need to connect.
  const node = openConnection(server) ??
    (maySend(state) ? await connectOrFail(state) : undefined);
  state.starting = false;
  // Callers whose calls failed for lack of a connection may have called again by now.
  if (node === undefined) return start(state);
  const refreshing = inFlight.batches.length === 0 ? node.refresh?.() : undefined;
  if (refreshing !== undefined) {
    state.starting = true;
    await refreshing;
    state.starting = false;
  }
  if (!maySend(state)) return;
  // A connection can hold only one watched transaction.
  inFlight.most = node.exclusive ? 1 : node.mostBatches ?? MAX_BATCHES;
  const hasLost = state.lostRaces > 0;
  const { batch, allWent } = drainBatch(queue, node.exclusive);
  batchStarted(inFlight, batch);
  if (node.exclusive) state.loading = batch;
  state.joinable = allWent;
  const ending = run(state, node, batch);
  // From a nearer server the batch is back by then.
  if (inFlight.most > 1 && server.breaker.trips.smoothed > APART) {
    leaveApart(inFlight, () => start(state));
  }
  // Start the next batch only now, so that the commands of this one are written before it is made.
  start(state);
  await ending;
  batchFinished(inFlight, batch);
  const { waiting } = state;
  handleReturn(state);
  if (state.lostRaces > 0) {
    // If every call waits for a claim of others, rest first.
    if (waiting > 0 && queue.size <= waiting) await rest(state);
    return startAtOnce(state);
  }
  if (hasLost && Math.random() < BACKOFF_CHANCE) await rest(state);
  start(state);
}

/**
 * Makes a connection, however long that takes. No call waits for it longer than for its round trips,
 * or, if it is the first connection to the server, longer than the connect deadline.
 */
async function connectOrFail({ server, queue }: Outcomes): Promise<Link | undefined> {
  const { breaker, context } = server;
  const most = breaker.hasConnected
    ? replyDeadline(breaker.trips, context, GREETINGS)
    : context.connectDeadline;
  const began = performance.now();
  const late = new Error(`No connection within ${most} ms`);
  for (let job = firstJob(queue); job !== undefined; job = firstJob(queue)) {
    const left = Math.max(1, Math.max(waitsSince(job), began) + most - performance.now());
    try {
      return await withTimeout(connectTo(server), left, () => {
        throw late;
      }, patientTimer);
    } catch (error) {
      // The store was closed, which has failed its calls. This is not an outage.
      if (server.closed) return undefined;
      const over = error === late ? performance.now() - most : Infinity;
      recordFailure(breaker, asError(error));
      context.failJobs(
        drainIf(queue, (each) => Math.max(waitsSince(each), began) <= over),
        "no",
        error as Error,
      );
    }
  }
  return undefined;
}

/** Runs a batch. No fault in here, whatever it is, may leave a caller without an answer. */
async function run(state: BatcherState, node: Link, batch: Batch): Promise<void> {
  const { server: { context }, callbacks } = state;
  context.counters.batches++;
  try {
    await node.commit(batch, callbacks);
  } catch (error) {
    callbacks.fail(batch.jobs, { kind: "lost", applied: "unknown", error: asError(error) });
  } finally {
    if (state.loading === batch) callbacks.onLoaded();
  }
}

/**
 * Waits for a moment in which others may win. A process that has lost tries again at once. But a
 * process that guesses the newest value wins again and again, and others that are merely further away
 * would end with a `ContentionError`. A rest after every win would cost a third of all decisions on a
 * hot key. A rest after one in four is enough.
 */
async function rest(state: BatcherState): Promise<void> {
  state.resting = true;
  await new Promise((resolve) => setTimeout(resolve, 1));
  state.resting = false;
}
