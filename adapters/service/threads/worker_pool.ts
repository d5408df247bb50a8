/*
 * The workers of a service, as the main thread sees them. A worker that dies is started again: the
 * shared store survives it, and the others go on serving meanwhile.
 */

import { Worker } from "node:worker_threads";

import { withTimeout } from "../../../core/toolkit.ts";
import type { SharedStoreHandle } from "../../../stores/shared/shared_store.ts";
import type { KeyLimits, RuleFile } from "../../rules/rules.ts";
import { errorLog, type Log, type LogEvent } from "../log.ts";
import { addFigures, type FiguresSnapshot } from "../metrics/figures_snapshot.ts";
import type { LiveDocument, LiveRequest } from "../metrics/live_document.ts";
import type { RedisOptions } from "../store_on_redis.ts";
import type { TlsKeys } from "../tls_keys.ts";
import { type PortCall, portCalls } from "./port_calls.ts";
import type { Ports, Servers, ServerSettings } from "./thread_servers.ts";
import { workerProgram } from "./worker_program.ts";

/** What a worker starts with. */
export interface WorkerSettings extends ServerSettings {
  readonly store: { readonly handle: SharedStoreHandle } | { readonly redis: RedisOptions };
  /** The rules, which the main thread has read. */
  readonly files: readonly RuleFile[];
  /** Whether limits of keys can be asked for. */
  readonly lookups: boolean;
  readonly openTelemetry: boolean;
}

/** What the main thread may call in a worker. */
export interface WorkerCalls {
  /** Puts rules in place. */
  apply(files: readonly RuleFile[]): Promise<void>;
  forgetLookups(): void;
  figures(search?: string): FiguresSnapshot;
  drain(): Promise<void>;
  /** Puts another certificate in place. */
  secure(keys: TlsKeys): Promise<void>;
  /** Ends the server and the store, letting calls end for so many milliseconds. */
  stop(grace: number): Promise<void>;
}

/** What a worker may call in the main thread. */
export interface MainCalls {
  /** The worker serves, on these ports. */
  listening(ports: Ports): void;
  /** The worker cannot serve. */
  failed(message: string): void;
  log(event: LogEvent): void;
  /** What all threads have counted. */
  figures(): Promise<FiguresSnapshot>;
  /** What the page shows. */
  live(request: LiveRequest): Promise<LiveDocument>;
  /** The limits of a key's own. */
  limits(domain: string, key: string): Promise<KeyLimits>;
}

/** The options of a pool of workers. */
export interface WorkerPoolOptions {
  readonly size: number;
  /** The settings of a worker that is started now, and which ports it shares with others. */
  readonly settings: (ports?: Ports) => WorkerSettings;
  /** What workers ask the main thread for. */
  readonly answers: Pick<MainCalls, "figures" | "live" | "limits">;
  readonly log: Log;
  /** Called for each worker that died, and is started again. */
  readonly onRestart?: (() => void) | undefined;
  /** What each worker runs; default the worker of the service. */
  readonly program?: URL | undefined;
  /** Milliseconds until a worker that died is started again; default 1,000. */
  readonly restartAfter?: number | undefined;
}

/** The workers of a service. */
export interface WorkerPool extends Servers {
  /** Gives all of them other rules. */
  apply(files: readonly RuleFile[]): void;
  forgetLookups(): void;
  /**
   * What each of them has counted, and what those that ended had when they were last asked, so that
   * no sum grows smaller. One that does not answer within a second is reported as it last was.
   */
  figures(search?: string): Promise<readonly FiguresSnapshot[]>;
}

/** Milliseconds beyond the grace until a worker that does not stop is ended. */
const STOP_WITHIN = 1_000;

/** Milliseconds for which a worker may take to say what it counted. */
const ANSWER_WITHIN = 1_000;

/** A worker, and what it said last of its figures. */
interface PoolWorker {
  readonly thread: Worker;
  readonly call: PortCall<WorkerCalls>;
  figures: FiguresSnapshot | undefined;
}

interface PoolState {
  readonly options: WorkerPoolOptions;
  readonly workers: Set<PoolWorker>;
  /** What workers that ended had counted, as a sum. */
  ofEnded: readonly FiguresSnapshot[];
  /** The ports that the workers share; `undefined` until all of them serve. */
  ports: Ports | undefined;
  stopping: boolean;
}

/** Starts workers; resolves once all of them serve. */
export async function startWorkers(options: WorkerPoolOptions): Promise<WorkerPool> {
  const pool: PoolState = {
    options,
    workers: new Set(),
    ofEnded: [],
    ports: undefined,
    stopping: false,
  };
  let ports: Ports;
  try {
    const first = ports = await start(pool);
    await Promise.all(Array.from({ length: options.size - 1 }, () => start(pool, first)));
    pool.ports = first;
  } catch (error) {
    await stop(pool, 0);
    throw error;
  }
  return {
    ports,
    apply: (files) => callAll(pool, "apply", files),
    forgetLookups: () => callAll(pool, "forgetLookups"),
    figures: (search) => figuresOf(pool, search),
    secure: (keys) => secure(pool, keys),
    drain: () => callAll(pool, "drain"),
    stop: (grace) => stop(pool, grace),
  };
}

/** Starts a worker; resolves to its ports once it serves. */
function start(pool: PoolState, wanted?: Ports): Promise<Ports> {
  const { settings, answers, log, program = workerProgram(import.meta.url, "worker") } =
    pool.options;
  return new Promise((resolve, reject) => {
    const thread = new Worker(program, { workerData: settings(wanted) });
    const calls: MainCalls = {
      ...answers,
      log,
      listening: resolve,
      failed(message) {
        reject(new Error(message));
        // Its end is an event, at which it is replaced unless this is the service's start.
        void thread.terminate();
      },
    };
    const worker = {
      thread,
      call: portCalls<WorkerCalls>(thread, () => calls),
      figures: undefined,
    };
    pool.workers.add(worker);
    thread.on("error", errorLog(log, "worker-error"));
    thread.on("exit", (code) => {
      pool.workers.delete(worker);
      keepFigures(pool, worker);
      reject(new Error(`Cannot start a worker as it ended with ${code}`));
      if (!pool.stopping && pool.ports !== undefined) replace(pool, code);
    });
  });
}

function replace(pool: PoolState, code: number): void {
  const { log, onRestart, restartAfter = 1_000 } = pool.options;
  onRestart?.();
  log({ event: "worker-ended", level: "error", code });
  setTimeout(() => {
    if (pool.stopping) return;
    start(pool, pool.ports).catch(errorLog(log, "worker-error"));
  }, restartAfter);
}

function callAll<Name extends keyof WorkerCalls>(
  { workers, options: { log } }: PoolState,
  name: Name,
  ...args: Parameters<WorkerCalls[Name]>
): void {
  for (const { call } of workers) {
    call(name, ...args).catch(errorLog(log, "worker-error"));
  }
}

async function secure({ workers }: PoolState, keys: TlsKeys): Promise<void> {
  await Promise.all([...workers].map(async (worker) => {
    try {
      await worker.call("secure", keys);
    } catch (error) {
      // What takes the place of one that has ended starts with them.
      if (workers.has(worker)) throw error;
    }
  }));
}

async function figuresOf(
  { workers, ofEnded }: PoolState,
  search: string | undefined,
): Promise<readonly FiguresSnapshot[]> {
  const known = await Promise.all(
    [...workers].map(async (worker) => {
      const asked = worker.call("figures", search).then((figures) => worker.figures = figures);
      await withTimeout<unknown>(asked.catch(() => {}), ANSWER_WITHIN, () => {});
      return worker.figures ?? [];
    }),
  );
  return [...known.flat(), ...ofEnded];
}

/** Keeps what a worker that ended had counted; keys and threads are of those that live. */
function keepFigures(pool: PoolState, { figures }: PoolWorker): void {
  if (figures === undefined) return;
  const ended = { ...figures, keys: [], threads: 0 };
  pool.ofEnded = [addFigures([...pool.ofEnded, ended])];
}

async function stop(pool: PoolState, grace: number): Promise<void> {
  pool.stopping = true;
  await Promise.all([...pool.workers].map((worker) => ended(worker, grace)));
}

/** Waits until a worker has stopped, and ends it; one that does not stop is ended all the same. */
async function ended({ thread, call }: PoolWorker, grace: number): Promise<unknown> {
  await withTimeout(call("stop", grace).catch(() => {}), grace + STOP_WITHIN, () => {});
  return await thread.terminate();
}
