/*
 * The way of a call: it waits in the queue of its node until the batch before is done, goes into the
 * next one with all others that came in the meantime, and is answered when that is committed. One
 * batch at a time, as what costs is the round trip and not the calls in it: the longer one takes,
 * the more calls share the next.
 *
 * | what came of the batch | its calls |
 * |---|---|
 * | committed | are answered |
 * | a key was touched by others | try again at the head of the queue, at most MOST_TRIES times |
 * | the connection closed before anything was written | go into the next batch, on a new connection; the third time in a row it is an error |
 * | no reply, or an error | are told that they were not applied, and so are all that wait |
 * | the writes were sent, and no reply came | are told that nobody knows; they are not tried again |
 */

import { ContentionError } from "../../core/errors.ts";
import { type Batch, canShare, enlist, type Part } from "./batch.ts";
import { ALL_ANSWERED, type BatchEnd } from "./batch_end.ts";
import type { Breaker } from "./breaker.ts";
import { casCommit } from "./cas_commit.ts";
import { inParts } from "./in_parts.ts";
import type { Job } from "./job.ts";
import { jobQueue, MOST_JOBS } from "./job_queue.ts";
import type { Link } from "./link.ts";
import type { NodeConnection } from "./node_connection.ts";
import type { StoreParts } from "./store_parts.ts";
import type { Trouble } from "./trouble.ts";
import { turn } from "./turn.ts";
import { unavailable } from "./unavailable.ts";
import { watchCommit } from "./watch_commit.ts";

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
  link: Link,
  breaker: Breaker,
  parts: StoreParts,
  moved?: (jobs: readonly Job[], trouble: Trouble) => void,
): Batcher {
  const { deadline, dialDeadline, maxPending, counters } = parts;
  const queue = jobQueue();
  let running = false;
  let closed = false;
  /** How many batches in a row lost the race. */
  let lost = 0;
  /** How many connections in a row were lost without one answer. */
  let barren = 0;
  /** The batch whose values are being loaded: calls on its keys may join it. */
  let loading: Batch | undefined;
  /** Ends the wait of calls that a dial keeps waiting. */
  let impatience: ReturnType<typeof setTimeout> | undefined;
  let dialling = false;

  function submit(job: Job): void {
    if (closed) return fail([job], "no", new Error("The store was closed"));
    if (loading !== undefined && breaker.untilProbe() === 0 && mayJoin(loading, job)) {
      enlist(job, loading);
      return;
    }
    if (queue.size >= maxPending) {
      return fail([job], "no", new Error(`${maxPending} calls wait already`));
    }
    if (!breaker.admits()) return fail([job], "no", new Error("It failed a moment ago"));
    queue.add(job);
    start();
    if (dialling) loseNoPatience();
  }

  function start(): void {
    if (running) return;
    running = true;
    setImmediate(run);
  }

  async function run(): Promise<void> {
    try {
      while (queue.size > 0) {
        const node = link.current() ?? await dial();
        const hasFought = lost > 0;
        if (node !== undefined && queue.size > 0) deal(await runNext(node));
        // Callers just answered call again in this turn, all for one batch.
        if (lost === 0) await (hasFought && Math.random() < COURTESY ? pause() : turn());
      }
    } finally {
      running = false;
    }
  }

  /** A connection; without one nobody waits any more. */
  async function dial(): Promise<NodeConnection | undefined> {
    dialling = true;
    loseNoPatience();
    try {
      return await link.dialled();
    } catch (error) {
      breaker.failed();
      fail(queue.takeOlderThan(Infinity), "no", error as Error);
      return undefined;
    } finally {
      dialling = false;
      clearTimeout(impatience);
      impatience = undefined;
    }
  }

  /** Sees to it that no call waits for a dial longer than it should. */
  function loseNoPatience(): void {
    const patience = link.hasBeenUp() ? deadline : dialDeadline;
    const oldest = queue.first();
    if (impatience !== undefined || oldest === undefined) return;
    const left = oldest.born + patience - performance.now();
    impatience = setTimeout(() => {
      impatience = undefined;
      const late = queue.takeOlderThan(performance.now() - patience);
      if (late.length > 0) breaker.failed();
      fail(late, "no", new Error(`No connection within ${patience} ms`));
      loseNoPatience();
    }, Math.max(1, left));
  }

  async function runNext(node: NodeConnection): Promise<BatchEnd> {
    counters.batches++;
    const batch = queue.take(node.commit === "cas");
    if (node.commit === "cas" && !batch.watched) {
      counters.roundTrips++;
      return await inParts(batch, (part) => guarded(part, casCommit(node, part, answer, parts)));
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
      barren = 0;
      breaker.succeeded();
    }
    counters.decisions += jobs.length;
    for (const job of jobs) job.settle(job.decisions);
  }

  function endOfLoading(): void {
    loading = undefined;
  }

  function deal({ conflicted, unapplied, unsure, trouble }: BatchEnd): void {
    lost = conflicted.length > 0 ? lost + 1 : 0;
    counters.conflicts += conflicted.length;
    tryAgain(conflicted, () => {
      counters.contended++;
      return new ContentionError(
        `Cannot decide as its keys must be left alone for one round trip: others changed them ` +
          `${MOST_TRIES} times`,
      );
    });
    if (trouble === undefined) return;
    fail(unsure, "unknown", trouble.error);
    if (trouble.kind === "moved" && moved !== undefined) return moved(unapplied, trouble);
    link.drop();
    if (trouble.kind === "lost" && ++barren < MOST_BARREN) {
      return tryAgain(unapplied, () => unavailable("no", trouble.error));
    }
    breaker.failed();
    fail(unapplied, "no", trouble.error);
    fail(queue.takeOlderThan(Infinity), "no", trouble.error);
  }

  function tryAgain(jobs: readonly Job[], tooOften: () => Error): void {
    if (closed) return fail(jobs, "no", new Error("The store was closed"));
    const again: Job[] = [];
    for (const job of jobs) {
      if (++job.tries < MOST_TRIES) again.push(job);
      else job.fail(tooOften());
    }
    queue.addFirst(again);
  }

  function fail(jobs: readonly Job[], applied: "no" | "unknown", cause: Error): void {
    counters.unavailable += jobs.length;
    for (const job of jobs) job.fail(unavailable(applied, cause));
  }

  return {
    submit,
    isIdle: () => !running,
    close() {
      closed = true;
      link.close();
      fail(queue.takeOlderThan(Infinity), "no", new Error("The store was closed"));
    },
  };
}

/**
 * Whether all keys of a call are being loaded. If only some are, it has to wait, and so have those
 * after it: calls on a key are decided in the order in which they came.
 */
function mayJoin(batch: Batch, job: Job): boolean {
  const { jobs, cells } = batch;
  const { keys, asking } = job;
  const fits = batch.asking === asking && canShare(batch, job) && jobs.length < MOST_JOBS;
  if (!fits) batch.open = false;
  if (!batch.open) return false;
  const loaded = keys.filter((key) => cells.has(key)).length;
  if (loaded > 0 && loaded < keys.length) batch.open = false;
  return loaded === keys.length;
}

/** What came of a batch. A fault in here, whatever it is, may have nobody wait for ever. */
async function guarded({ jobs }: Pick<Part, "jobs">, end: Promise<BatchEnd>): Promise<BatchEnd> {
  try {
    return await end;
  } catch (error) {
    return { ...ALL_ANSWERED, unsure: jobs, trouble: { kind: "lost", error: error as Error } };
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
