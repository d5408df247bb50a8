/*
 * The workers of a service, as the main thread sees them. A worker that dies is started again: the
 * shared store survives it, and the others go on serving meanwhile.
 */

import { Worker } from "node:worker_threads";

import { withTimeout } from "../../../core/toolkit.ts";
import type { RuleDocument } from "../../rules/rules.ts";
import { errorText, type Log } from "../log.ts";
import type { FiguresSnapshot } from "../metrics/figures_snapshot.ts";
import type { FromWorker, Question, ToWorker, WorkerSettings } from "./messages.ts";
import {
  askFigures,
  keepFigures,
  receiveFigures,
  type WorkerFigures,
  workerFigures,
} from "./worker_figures.ts";

/** The options of a pool of workers. */
export interface WorkerPoolOptions {
  readonly size: number;
  /** The settings of a worker that is started now. */
  readonly settings: (port: number) => WorkerSettings;
  /** Answers what workers ask for. */
  readonly answer: (question: Question) => Promise<unknown>;
  readonly log: Log;
  /** What each worker runs; default the worker of the service. */
  readonly program?: URL | undefined;
  /** Milliseconds until a worker that died is started again; default 1,000. */
  readonly restartAfter?: number | undefined;
}

/** The workers of a service. */
export interface WorkerPool {
  /** The port that they share. */
  readonly port: number;
  /** Gives all of them other rules. */
  apply(documents: readonly RuleDocument[]): void;
  forgetLookups(): void;
  /**
   * What each of them has counted, and what those that ended had when they were last asked, so that
   * no sum grows smaller. One that does not answer within a second is reported as it last was.
   */
  figures(): Promise<readonly FiguresSnapshot[]>;
  drain(): void;
  /** Ends all of them, letting calls end for so many milliseconds. */
  stop(grace: number): Promise<void>;
}

/** Milliseconds beyond the grace until a worker that does not stop is ended. */
const STOP_WITHIN = 1_000;

interface PoolState {
  readonly options: WorkerPoolOptions;
  readonly workers: Set<Worker>;
  readonly figures: WorkerFigures<Worker>;
  /** The port that the workers share; 0 until all of them serve. */
  port: number;
  stopping: boolean;
}

/** Starts workers; resolves once all of them serve. */
export async function startWorkers(options: WorkerPoolOptions): Promise<WorkerPool> {
  const pool: PoolState = {
    options,
    workers: new Set(),
    figures: workerFigures(),
    port: 0,
    stopping: false,
  };
  try {
    const first = await start(pool, options.settings(0).port);
    await Promise.all(Array.from({ length: options.size - 1 }, () => start(pool, first)));
    pool.port = first;
  } catch (error) {
    await stop(pool, 0);
    throw error;
  }
  return {
    port: pool.port,
    apply: (documents) => sendAll(pool, { kind: "rules", documents }),
    forgetLookups: () => sendAll(pool, { kind: "forgetLookups" }),
    figures: () => figuresOf(pool),
    drain: () => sendAll(pool, { kind: "drain" }),
    stop: (grace) => stop(pool, grace),
  };
}

/** Starts a worker; resolves to its port once it serves. */
function start(pool: PoolState, wanted: number): Promise<number> {
  const { settings, log, program = workerProgram() } = pool.options;
  return new Promise((resolve, reject) => {
    const worker = new Worker(program, { workerData: settings(wanted) });
    pool.workers.add(worker);
    worker.on("message", (message: FromWorker) => {
      if (message.kind === "listening") resolve(message.port);
      else if (message.kind === "failed") {
        reject(new Error(message.message));
        // Its end is an event, at which it is replaced unless this is the service's start.
        void worker.terminate();
      } else receive(pool, worker, message);
    });
    worker.on("error", (error) => log({ event: "worker-error", error: errorText(error) }));
    worker.on("exit", (code) => {
      pool.workers.delete(worker);
      keepFigures(pool.figures, worker);
      reject(new Error(`Cannot start a worker as it ended with ${code}`));
      if (!pool.stopping && pool.port !== 0) replace(pool, code);
    });
  });
}

function replace(pool: PoolState, code: number): void {
  const { log, restartAfter = 1_000 } = pool.options;
  log({ event: "worker-ended", level: "error", code });
  setTimeout(() => {
    if (pool.stopping) return;
    start(pool, pool.port).catch((error) => {
      log({ event: "worker-error", level: "error", error: errorText(error) });
    });
  }, restartAfter);
}

function send(worker: Worker, message: ToWorker): void {
  worker.postMessage(message);
}

function sendAll({ workers }: PoolState, message: ToWorker): void {
  for (const worker of workers) send(worker, message);
}

function receive({ figures, options }: PoolState, worker: Worker, message: FromWorker): void {
  switch (message.kind) {
    case "figures":
      receiveFigures(figures, worker, message.id, message.figures);
      break;
    case "log":
      options.log(message.event);
      break;
    case "ask":
      void reply(options, worker, message.id, message.question);
  }
}

async function reply(
  { answer }: WorkerPoolOptions,
  worker: Worker,
  id: number,
  question: Question,
): Promise<void> {
  try {
    const value = await answer(question) as FiguresSnapshot;
    send(worker, { kind: "answer", id, answer: { value } });
  } catch (error) {
    send(worker, { kind: "answer", id, answer: { error: errorText(error) } });
  }
}

async function figuresOf({ workers, figures }: PoolState): Promise<readonly FiguresSnapshot[]> {
  const answers = await Promise.all(
    [...workers].map((worker) =>
      askFigures(figures, worker, (id) => send(worker, { kind: "figures", id }))
    ),
  );
  return [...answers.filter((answer) => answer !== undefined), ...figures.ofEnded];
}

async function stop(pool: PoolState, grace: number): Promise<void> {
  pool.stopping = true;
  const ends = [...pool.workers].map((worker) => ended(worker, grace + STOP_WITHIN));
  sendAll(pool, { kind: "stop", grace });
  await Promise.all(ends);
}

/** Waits until a worker has stopped, and ends it; one that does not stop is ended all the same. */
async function ended(worker: Worker, milliseconds: number): Promise<unknown> {
  const stopped = new Promise<void>((resolve) => {
    worker.on("exit", () => resolve());
    worker.on("message", (message: FromWorker) => {
      if (message.kind === "stopped") resolve();
    });
  });
  await withTimeout(stopped, milliseconds, () => {});
  return await worker.terminate();
}

/** The worker of the service; the built package holds it as JavaScript. */
function workerProgram(): URL {
  const file = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js";
  const { href, protocol } = new URL(file, import.meta.url);
  // From JSR the code comes by HTTPS, where a worker takes files and data alone.
  return protocol === "file:"
    ? new URL(href)
    : new URL(`data:text/javascript,${encodeURIComponent(`import ${JSON.stringify(href)};`)}`);
}
