/*
 * The workers of a service, as the main thread sees them. A worker that dies is started again: the
 * shared store survives it, and the others go on serving meanwhile.
 */

import { Worker } from "node:worker_threads";

import type { RuleDocument } from "../../rules/rules.ts";
import { addFigures, type FiguresSnapshot } from "../metrics/figures.ts";
import type { Log } from "../log.ts";
import { errorText } from "../log.ts";
import type { FromWorker, Question, ToWorker, WorkerSettings } from "./messages.ts";

/** The options of a crew. */
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
   * no sum grows smaller. One that does not answer within a second is told as it last was.
   */
  figures(): Promise<readonly FiguresSnapshot[]>;
  drain(): void;
  /** Ends all of them, letting calls end for so many milliseconds. */
  stop(grace: number): Promise<void>;
}

const PATIENCE = 1_000;

/** Starts workers; resolves once all of them serve. */
export async function startWorkers(options: WorkerPoolOptions): Promise<WorkerPool> {
  const { size, settings, answer, log, program = workerProgram(), restartAfter = 1_000 } = options;
  const workers = new Set<Worker>();
  const replies = new Map<number, (figures: FiguresSnapshot) => void>();
  const lastTold = new Map<Worker, FiguresSnapshot>();
  let ofEnded: readonly FiguresSnapshot[] = [];
  let asked = 0;
  let stopping = false;
  let port = 0;

  function start(wanted: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(program, { workerData: settings(wanted) });
      workers.add(worker);
      worker.on("message", (message: FromWorker) => {
        if (message.kind === "listening") resolve(message.port);
        else if (message.kind === "failed") {
          reject(new Error(message.message));
          // Its end is heard, and it is replaced unless this is the service's start.
          void worker.terminate();
        } else heard(worker, message);
      });
      worker.on("error", (error) => log({ event: "worker-error", error: errorText(error) }));
      worker.on("exit", (code) => {
        workers.delete(worker);
        keepFigures(worker);
        reject(new Error(`Cannot start a worker as it ended with ${code}`));
        if (!stopping && port !== 0) replace(code);
      });
    });
  }

  function replace(code: number): void {
    log({ event: "worker-ended", level: "error", code });
    setTimeout(() => {
      if (stopping) return;
      start(port).catch((error) => {
        log({ event: "worker-error", level: "error", error: errorText(error) });
      });
    }, restartAfter);
  }

  /** Keeps what a worker that ended had counted; keys and threads are of those that live. */
  function keepFigures(worker: Worker): void {
    const last = lastTold.get(worker);
    lastTold.delete(worker);
    if (last === undefined) return;
    ofEnded = [addFigures([...ofEnded, { ...last, keys: [], store: {}, threads: 0 }])];
  }

  function tell(worker: Worker, message: ToWorker): void {
    worker.postMessage(message);
  }

  function heard(worker: Worker, message: FromWorker): void {
    switch (message.kind) {
      case "figures":
        lastTold.set(worker, message.figures);
        replies.get(message.id)?.(message.figures);
        break;
      case "log":
        log(message.event);
        break;
      case "ask":
        void reply(worker, message.id, message.question);
    }
  }

  async function reply(worker: Worker, id: number, question: Question): Promise<void> {
    try {
      const value = await answer(question) as FiguresSnapshot;
      tell(worker, { kind: "answer", id, answer: { value } });
    } catch (error) {
      tell(worker, { kind: "answer", id, answer: { error: errorText(error) } });
    }
  }

  function figuresOf(worker: Worker): Promise<readonly FiguresSnapshot[]> {
    return new Promise((resolve) => {
      const id = asked++;
      const timer = setTimeout(() => {
        const last = lastTold.get(worker);
        done(last === undefined ? [] : [last]);
      }, PATIENCE);
      function done(all: readonly FiguresSnapshot[]): void {
        clearTimeout(timer);
        replies.delete(id);
        resolve(all);
      }
      replies.set(id, (figures) => done([figures]));
      tell(worker, { kind: "figures", id });
    });
  }

  function all(message: ToWorker): void {
    for (const worker of workers) tell(worker, message);
  }

  async function stop(grace: number): Promise<void> {
    stopping = true;
    const ends = [...workers].map((worker) => ended(worker, grace + PATIENCE));
    all({ kind: "stop", grace });
    await Promise.all(ends);
  }

  try {
    const first = await start(settings(0).port);
    const others = Array.from({ length: size - 1 }, () => start(first));
    await Promise.all(others);
    port = first;
  } catch (error) {
    await stop(0);
    throw error;
  }
  return {
    port,
    apply: (documents) => all({ kind: "rules", documents }),
    forgetLookups: () => all({ kind: "forgetLookups" }),
    async figures() {
      const told = await Promise.all([...workers].map(figuresOf));
      return [...told.flat(), ...ofEnded];
    },
    drain: () => all({ kind: "drain" }),
    stop,
  };
}

/** The worker of the service; the built package holds it as JavaScript. */
function workerProgram(): URL {
  const file = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js";
  return new URL(file, import.meta.url);
}

/** Waits until a worker has stopped, and ends it; one that does not stop is ended all the same. */
function ended(worker: Worker, patience: number): Promise<unknown> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, patience);
    function end(): void {
      clearTimeout(timer);
      resolve(worker.terminate());
    }
    worker.on("exit", end);
    worker.on("message", (message: FromWorker) => {
      if (message.kind === "stopped") end();
    });
  });
}
