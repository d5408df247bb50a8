/*
 * A service that runs, as data: its store, its thread, its workers, the rules that hold, and what
 * ends it. The functions here start its parts, each of which adds its own end.
 */

import type { Store } from "../../mod.ts";
import { memoryStore } from "../../mod.ts";
import { type SharedStore, sharedStore } from "../../stores/shared/shared_store.ts";
import { type FollowedRules, followRules, problemText, type RulesEvent } from "../rules/rules.ts";
import { takePort } from "./http/shared_port.ts";
import { errorText, type LogEvent } from "./log.ts";
import { addFigures, figuresOfRules, type FiguresSnapshot } from "./metrics/figures_snapshot.ts";
import { type History, history } from "./metrics/history.ts";
import {
  type LiveDocument,
  liveDocument,
  type LiveRequest,
  type StoreKind,
} from "./metrics/live_document.ts";
import { processFigures, type ServiceEvents } from "./metrics/process_figures.ts";
import type { ServeSettings } from "./serve_options.ts";
import { observedStore } from "./observed_store.ts";
import { storeOnRedis } from "./store_on_redis.ts";
import { readInWorker } from "./threads/read_in_worker.ts";
import {
  type Ports,
  type Servers,
  type ServerSettings,
  startServers,
} from "./threads/thread_servers.ts";
import { type ServiceThread, serviceThread } from "./threads/service_thread.ts";
import { startWorkers, type WorkerPool, type WorkerSettings } from "./threads/worker_pool.ts";
import { type FollowedTls, followTlsKeys, type TlsKeys } from "./tls_keys.ts";

/** A service that runs. */
export interface RunningService {
  readonly settings: ServeSettings;
  readonly store: Store;
  /** This thread: the only one, or the one that workers ask. */
  readonly thread: ServiceThread;
  workers: WorkerPool | undefined;
  /** Those of this thread, or of the workers. */
  servers: Servers | undefined;
  /** `undefined` without TLS. */
  tls: FollowedTls | undefined;
  readonly events: ServiceEvents;
  readonly startedAt: number;
  /** The last hour. */
  readonly history: History;
  /** The rules' source; `undefined` until they are loaded. */
  followed: FollowedRules | undefined;
  /** Milliseconds for which calls may go on once the service ends. */
  grace: number;
  /** What ends the parts, in the order in which they were started. */
  readonly ends: (() => Promise<unknown> | void)[];
}

/** Makes a service that has its store and its thread, and neither rules nor servers yet. */
export async function openService(settings: ServeSettings): Promise<RunningService> {
  const store = await observedStore(await openStore(settings), settings.openTelemetry);
  const startedAt = Date.now();
  const service: RunningService = {
    settings,
    store,
    thread: serviceThread({
      ...settings.calls,
      store,
      lookup: settings.source.lookup,
      allFigures: () => allFigures(service),
      live: (request) => live(service, request),
      reportsStore: true,
      onError: (error) => logError(settings, "error", error),
      onLookupError: (error, key) => logError(settings, "lookup-failed", error, key),
    }),
    workers: undefined,
    servers: undefined,
    tls: undefined,
    events: { restarts: 0, loads: 0, refusals: 0, loadedAt: 0, refusedAt: 0 },
    startedAt,
    history: history(startedAt),
    followed: undefined,
    grace: 0,
    ends: [() => service.thread.close()],
  };
  service.ends.push(keepHistory(service));
  return service;
}

/** Looks at what was counted at the beginning of each minute; returns what ends that. */
function keepHistory(service: RunningService): () => void {
  const wait = () => 60_000 - Date.now() % 60_000;
  let timer: ReturnType<typeof setTimeout> | undefined = setTimeout(async function look() {
    await recorded(service, undefined).catch((error) => logError(service.settings, "error", error));
    if (timer !== undefined) timer = setTimeout(look, wait());
  }, wait());
  return () => {
    clearTimeout(timer);
    timer = undefined;
  };
}

/** What all threads have counted, which becomes part of the history. */
async function recorded(
  service: RunningService,
  search: string | undefined,
): Promise<FiguresSnapshot> {
  const now = Date.now();
  const figures = await allFigures(service, search);
  service.history.record(figures, now);
  return figures;
}

/** What the page shows. */
export async function live(service: RunningService, request: LiveRequest): Promise<LiveDocument> {
  const { settings, events, followed, startedAt, thread, history } = service;
  const { source, calls: { shadow, token } } = settings;
  const figures = await recorded(service, request.own ? request.search : undefined);
  const reason = followed?.refusal ?? "";
  const failedAt = reason === "" ? null : events.refusedAt;
  return liveDocument({
    now: Date.now(),
    startedAt,
    needsToken: token !== undefined,
    loaded: { at: events.loadedAt, failedAt, source: source.name, reason },
    rules: thread.engine.rules,
    figures,
    history,
    shadow,
    storeKind: storeKind(settings),
  }, request);
}

function storeKind({ store, redis, threads }: ServeSettings): StoreKind {
  if (store !== undefined) return "own";
  if (redis !== undefined) return "redis";
  return threads > 1 ? "shared" : "memory";
}

async function openStore(settings: ServeSettings): Promise<Store> {
  const { store, redis, threads, capacity } = settings;
  if (store !== undefined) return store;
  if (redis !== undefined) {
    return await storeOnRedis(redis, (error) => logError(settings, "redis-error", error));
  }
  return threads > 1 ? sharedStore({ capacity }) : memoryStore({ maxKeys: capacity });
}

function logError({ log }: ServeSettings, event: string, error: unknown, key?: string): void {
  log({ event, level: "error", error: errorText(error), key });
}

/**
 * What all threads have counted.
 *
 * @param search Text of the keys that are wanted; without it there are none.
 */
export async function allFigures(
  { thread, workers, events }: RunningService,
  search?: string,
): Promise<FiguresSnapshot> {
  const others = workers === undefined ? [] : await workers.figures(search);
  const { threads: here, ...own } = thread.figures.snapshot(search);
  const all = addFigures([{ ...own, threads: workers === undefined ? here : 0 }, ...others]);
  // Workers that ended may have counted rules that are there no more.
  const rules = figuresOfRules(all.rules, thread.engine.rules);
  return { ...all, rules, process: processFigures(events) };
}

/** Loads the rules, and follows their changes. */
export async function followSource(service: RunningService): Promise<FollowedRules> {
  const { thread, settings: { source, format, mergeDomains, log } } = service;
  const followed = await followRules(source, {
    format,
    mergeDomains,
    read: readInWorker,
    apply(rules) {
      thread.apply(rules);
      service.workers?.apply(rules.files);
    },
    onEvent(event) {
      countEvent(service.events, event);
      log(eventOf(event));
    },
    onLimitsChanged() {
      thread.engine.forgetLookups();
      service.workers?.forgetLookups();
    },
  });
  service.ends.push(() => followed.close());
  return service.followed = followed;
}

function countEvent(events: ServiceEvents, { event }: RulesEvent): void {
  if (event === "rules-refused") {
    events.refusals++;
    events.refusedAt = Date.now();
  } else {
    events.loads++;
    events.loadedAt = Date.now();
  }
}

function eventOf(event: RulesEvent): LogEvent {
  const { problems, ...facts } = event;
  const level = event.event === "rules-loaded" ? "info" : "error";
  return { ...facts, level, problems: problems.slice(0, 20).map(problemText) };
}

/** Reads the certificate, where there is one, and follows its changes. */
export async function followTls(service: RunningService): Promise<void> {
  const { settings: { tls, log } } = service;
  if (tls === undefined) return;
  const apply = async (keys: TlsKeys) => await service.servers?.secure(keys);
  const followed = await followTlsKeys(tls, apply, log);
  service.tls = followed;
  service.ends.push(() => followed.close());
}

/** Starts HTTP and gRPC, on this thread or on workers; resolves to their ports. */
export async function listen(service: RunningService): Promise<Ports> {
  const { thread, settings } = service;
  const servers = service.servers = settings.threads > 1
    ? await startPool(service)
    : await startServers(
      thread,
      serverSettings(service),
      (error) => logError(settings, "error", error),
    );
  service.ends.push(() => servers.stop(service.grace));
  return servers.ports;
}

async function startPool(service: RunningService): Promise<WorkerPool> {
  const { thread: { engine }, settings } = service;
  const { hostname, port, grpcPort = 0, threads, log, source } = settings;
  const { rules } = engine;
  for (const each of [port, grpcPort]) {
    if (each !== 0) service.ends.push(await takePort(hostname, each));
  }
  const workers = await startWorkers({
    size: threads,
    settings: (shared) => workerSettings(service, shared),
    answers: {
      figures: () => allFigures(service),
      live: (request) => live(service, request),
      limits: async (domain, key) => await source.lookup?.(domain, key),
    },
    onRestart: () => service.events.restarts++,
    log,
  });
  service.workers = workers;
  // Rules that changed while the workers started.
  if (engine.rules !== rules) workers.apply(engine.rules.files);
  return workers;
}

function serverSettings({ settings, tls }: RunningService): ServerSettings {
  const { hostname, port, grpcPort, threads, calls } = settings;
  return { ...calls, hostname, port, grpcPort, reusePort: threads > 1, tls: tls?.keys() };
}

function workerSettings(service: RunningService, shared: Ports | undefined): WorkerSettings {
  const { settings: { redis, source, openTelemetry }, store, thread } = service;
  return {
    ...serverSettings(service),
    ...shared,
    store: redis === undefined
      ? { handle: (store as SharedStore).handle }
      : { redis: { ...redis } },
    files: thread.engine.rules.files,
    lookups: source.lookup !== undefined,
    openTelemetry,
  };
}

/** Ends all parts, the last one first, also after an end that failed. */
export async function endService({ ends, settings }: RunningService): Promise<void> {
  for (const end of ends.reverse()) {
    try {
      await end();
    } catch (error) {
      logError(settings, "error", error);
    }
  }
}
