/*
 * The workers of a service, seen from the main thread. A worker that dies is started again: the
 * shared store survives it, and the others go on serving meanwhile.
 */

import { Worker } from "node:worker_threads";

import { withTimeout, workerProgram } from "../../../core/application_support.ts";
import type { KeyLookup, RuleFile } from "../../rules/rules.ts";
import { errorLog } from "../log.ts";
import { addFigures, type FiguresSnapshot, NO_FIGURES } from "../metrics/figures_snapshot.ts";
import type { StoreSettings } from "../open_store.ts";
import type { RulesVersion } from "../rules_version.ts";
import { type PortCall, portCalls } from "./port_calls.ts";
import type { Ports, Servers, ServerSettings, ThreadLinks } from "./service_thread.ts";

/** The settings that a worker starts with. */
export interface WorkerSettings extends ServerSettings, Omit<StoreSettings, "store"> {
  /** The rules, which the main thread has read. */
  readonly files: readonly RuleFile[];
  readonly version: RulesVersion;
  /** Whether limits of keys can be asked for. */
  readonly lookups: boolean;
}

/** The functions that the main thread may call in a worker. */
type WorkerCalls = Omit<Servers, "ports">;

/** The functions that a worker may call in the main thread. */
export interface MainCalls extends Omit<ThreadLinks, "lookup"> {
  lookup: KeyLookup;
  /** The worker serves, on these ports. */
  listening(ports: Ports): void;
  /** The worker cannot serve. */
  failed(message: string): void;
}

/** The options of a pool of workers. */
export interface WorkerPoolOptions {
  readonly size: number;
  /**
   * The settings of a worker that is started now, given the ports that it shares with other
   * workers.
   */
  readonly settings: (ports?: Ports) => WorkerSettings;
  /** The functions of the main thread that workers call. */
  readonly links: ThreadLinks;
  /** Called for each worker that died and is started again. */
  readonly onRestart?: (() => void) | undefined;
  /** The program of each worker; default is the worker of the service. */
  readonly program?: URL | undefined;
  /** Milliseconds until a worker that died is started again; default 1,000. */
  readonly restartAfter?: number | undefined;
}

/** Milliseconds beyond the grace until a worker that does not stop is ended. */
const STOP_WITHIN = 1_000;

/** Milliseconds within which a worker must answer with its counts. */
const ANSWER_WITHIN = 1_000;

/** A worker, and its last known figures. */
interface PoolWorker {
  readonly thread: Worker;
  readonly call: PortCall<WorkerCalls>;
  serves: boolean;
  figures: FiguresSnapshot;
}

/**
 * Starts workers; resolves once all of them serve. The figures are the counts of all workers and
 * the last known counts of ended workers, so that no sum decreases. A worker that does not answer
 * within a second is reported with its last known counts.
 */
export async function startWorkers(options: WorkerPoolOptions): Promise<Servers> {
  const { size, settings, links, onRestart, restartAfter = 1_000 } = options;
  const { program = workerProgram(import.meta.url, "worker") } = options;
  const { log } = links;
  const workers = new Set<PoolWorker>();
  /** The counts of workers that have ended. */
  let ofEnded = NO_FIGURES;
  /** Whether all workers serve. A worker that ends from then on is replaced. */
  let isServing = false;
  const failed = errorLog(log, "worker-error");

  /** Starts a worker; resolves to its ports once it serves. */
  function start(wanted?: Ports): Promise<Ports> {
    return new Promise((resolve, reject) => {
      const thread = new Worker(program, { workerData: settings(wanted) });
      const calls: Omit<MainCalls, "lookup"> = {
        ...links,
        listening(ports) {
          worker.serves = true;
          resolve(ports);
        },
        failed(message) {
          reject(new Error(message));
          // The worker's end is an event, whose handler replaces the worker, except during the
          // start of the service.
          void thread.terminate();
        },
      };
      const call = portCalls<WorkerCalls>(thread, () => calls);
      const worker: PoolWorker = { thread, call, serves: false, figures: NO_FIGURES };
      workers.add(worker);
      thread.on("error", failed);
      thread.on("exit", (code) => {
        workers.delete(worker);
        // Keys, threads and outages are reported only for living workers.
        const left = { ...worker.figures, keys: [], threads: 0, unavailableSince: 0 };
        ofEnded = addFigures([ofEnded, left]);
        reject(new Error(`Cannot start a worker because it ended with ${code}`));
        if (isServing) replace(code);
      });
    });
  }

  function replace(code: number): void {
    onRestart?.();
    log({ event: "worker-ended", level: "error", code });
    setTimeout(() => {
      if (isServing) start(ports).catch(failed);
    }, restartAfter);
  }

  function callAll<Name extends keyof WorkerCalls>(
    name: Name,
    ...args: Parameters<WorkerCalls[Name]>
  ): void {
    for (const { call } of workers) call(name, ...args).catch(failed);
  }

  async function stop(grace: number): Promise<void> {
    isServing = false;
    await Promise.all([...workers].map((worker) => ended(worker, grace)));
  }

  let ports: Ports;
  try {
    const first = ports = await start();
    await Promise.all(Array.from({ length: size - 1 }, () => start(first)));
    isServing = true;
  } catch (error) {
    await stop(0);
    throw error;
  }
  return {
    ports,
    apply: (files, version) => callAll("apply", files, version),
    forgetLookups: () => callAll("forgetLookups"),
    async figures(search) {
      await Promise.all([...workers].map((worker) => askFigures(worker, search)));
      return addFigures([...[...workers].map(({ figures }) => figures), ofEnded]);
    },
    async secure(keys) {
      await Promise.all([...workers].map((worker) =>
        worker.call("secure", keys).catch((error) => {
          // If this worker has ended, its successor starts with the new rules.
          if (workers.has(worker)) throw error;
        })
      ));
    },
    drain: () => callAll("drain"),
    stop,
  };
}

/** Asks a worker for its counts. If it does not answer, its last known counts are used. */
async function askFigures(worker: PoolWorker, search: string | undefined): Promise<void> {
  if (!worker.serves) return;
  const asked = worker.call("figures", search).then((figures) => void (worker.figures = figures));
  await withTimeout(asked.catch(() => {}), ANSWER_WITHIN, () => {});
}

/** Waits until a worker has stopped, and ends it. A worker that does not stop is ended, too. */
async function ended({ thread, call }: PoolWorker, grace: number): Promise<unknown> {
  await withTimeout(call("stop", grace).catch(() => {}), grace + STOP_WITHIN, () => {});
  return await thread.terminate();
}
