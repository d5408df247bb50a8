/*
 * The decision service: its parts are started one after the other, each adds what ends it, and all end
 * in the opposite order.
 */

import { memoryStore, type Store } from "../../mod.ts";
import { type SharedStore, sharedStore } from "../../stores/shared/shared_store.ts";
import { type FollowedRules, followRules, problemText, type RulesEvent } from "../rules/rules.ts";
import { takePort } from "./http/shared_port.ts";
import { errorLog, type LogEvent } from "./log.ts";
import { addFigures, figuresOfRules, type FiguresSnapshot } from "./metrics/figures_snapshot.ts";
import { type History, history } from "./metrics/history.ts";
import { liveDocument, type LiveRequest, type StoreKind } from "./metrics/live_document.ts";
import { metricsText } from "./metrics/metrics_text.ts";
import { processFigures, type ServiceEvents } from "./metrics/process_figures.ts";
import { observedStore } from "./observed_store.ts";
import { readServeOptions, type ServeOptions, type ServeSettings } from "./serve_options.ts";
import { storeOnRedis } from "./store_on_redis.ts";
import { readInWorker } from "./threads/read_in_worker.ts";
import {
  type Ports,
  type Servers,
  type ServerSettings,
  type ServiceThread,
  serviceThread,
} from "./threads/service_thread.ts";
import { startWorkers, type WorkerPool, type WorkerSettings } from "./threads/worker_pool.ts";
import { type FollowedTls, followTlsKeys } from "./tls_keys.ts";

/** A service that is running. */
export interface Service {
  /** Where HTTP is served: `http://127.0.0.1:8080`, with TLS `https://...`. */
  readonly url: string;
  /** The port of HTTP. */
  readonly port: number;
  /** The port of gRPC; `undefined` without it. */
  readonly grpcPort: number | undefined;
  /** Reads the rules and the certificate now; whether those that are there hold. */
  reload(): Promise<boolean>;
  /** What all threads have counted. */
  figures(): Promise<FiguresSnapshot>;
  /**
   * Ends the service: after the `drainDelay` it takes no more calls, and lets those under way end for
   * so many milliseconds; default 5,000.
   *
   * @param drainDelay Replaces the option of that name.
   */
  stop(grace?: number, drainDelay?: number): Promise<void>;
}

/**
 * Starts the decision service: HTTP, gRPC if it has a port, and the page.
 *
 * @param options Only `rules` is required.
 * @throws {Error} If the rules cannot be loaded, or a port is taken; nothing is left running.
 * @throws {TypeError} If options do not go together.
 *
 * @example
 * ```ts
 * import { serve } from "tidegate/serve";
 * import { objectSource } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const rules = objectSource({
 *   domain: "shop",
 *   rules: [{ key: "user", limits: [{ limit: 1, period: "1m" }] }],
 * });
 * const service = await serve({ rules, port: 0 });
 * const ask = () =>
 *   fetch(`${service.url}/v1/consume`, {
 *     method: "POST",
 *     body: JSON.stringify({ entries: { user: "42" } }),
 *   });
 * assert.equal((await (await ask()).json()).allowed, true);
 * assert.equal((await (await ask()).json()).allowed, false);
 * await service.stop();
 * ```
 */
export async function serve(options: ServeOptions): Promise<Service> {
  const running = await openService(readServeOptions(options));
  const { settings: { hostname, threads, log, drainDelay: ownDelay } } = running;
  let stopped: Promise<void> | undefined;
  try {
    const followed = await followSource(running);
    await followTls(running);
    const { port, grpcPort } = await listen(running);
    const scheme = running.tls === undefined ? "http" : "https";
    const url = `${scheme}://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
    log({ event: "listening", url, grpcPort, threads });
    return {
      url,
      port,
      grpcPort,
      async reload() {
        const both = await Promise.all([followed.reload(), running.tls?.reload() ?? true]);
        return both.every(Boolean);
      },
      figures: () => allFigures(running, ""),
      stop: (grace = 5_000, drainDelay = ownDelay) => stopped ??= stop(running, grace, drainDelay),
    };
  } catch (error) {
    await endAll(running);
    throw error;
  }
}

/** A service that runs, as data. */
interface RunningService {
  readonly settings: ServeSettings;
  readonly store: Store;
  readonly storeKind: StoreKind;
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
async function openService(settings: ServeSettings): Promise<RunningService> {
  const { log } = settings;
  const [storeKind, opened] = await openStore(settings);
  const store = await observedStore(opened, settings.openTelemetry);
  const startedAt = Date.now();
  const service: RunningService = {
    settings,
    store,
    storeKind,
    thread: serviceThread({
      ...settings.calls,
      store,
      lookup: settings.source.lookup,
      show: (what) => show(service, what),
      reportsStore: true,
      log,
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
    await recorded(service, undefined).catch(errorLog(service.settings.log));
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

/** What the metrics are, or what the page shows. */
async function show(service: RunningService, request: "metrics" | LiveRequest): Promise<string> {
  if (request === "metrics") return metricsText(await allFigures(service));
  const { settings, events, followed, startedAt, thread, history } = service;
  const { source, calls: { shadow, token } } = settings;
  const figures = await recorded(service, request.own ? request.search : undefined);
  const reason = followed?.refusal ?? "";
  const failedAt = reason === "" ? null : events.refusedAt;
  const document = liveDocument({
    now: Date.now(),
    startedAt,
    needsToken: token !== undefined,
    loaded: { at: events.loadedAt, failedAt, source: source.name, reason },
    rules: thread.engine.rules,
    figures,
    history,
    shadow,
    storeKind: service.storeKind,
  }, request);
  return JSON.stringify(document);
}

/** The store of these settings, and of which kind it is. */
async function openStore(
  { store, redis, threads, capacity, log }: ServeSettings,
): Promise<readonly [StoreKind, Store]> {
  if (store !== undefined) return ["own", store];
  if (redis !== undefined) {
    return ["redis", await storeOnRedis(redis, errorLog(log, "redis-error"))];
  }
  return threads > 1
    ? ["shared", sharedStore({ capacity })]
    : ["memory", memoryStore({ maxKeys: capacity })];
}

/**
 * What all threads have counted.
 *
 * @param search Text of the keys that are wanted; without it there are none.
 */
async function allFigures(
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
async function followSource(service: RunningService): Promise<FollowedRules> {
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
async function followTls(service: RunningService): Promise<void> {
  const { settings: { tls, log } } = service;
  if (tls === undefined) return;
  service.tls = await followTlsKeys(tls, async (keys) => await service.servers?.secure(keys), log);
  service.ends.push(service.tls.close);
}

/** Starts HTTP and gRPC, on this thread or on workers; resolves to their ports. */
async function listen(service: RunningService): Promise<Ports> {
  const { thread, settings } = service;
  const servers = service.servers = settings.threads > 1
    ? await startPool(service)
    : await thread.serve(serverSettings(service));
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
      show: (what) => show(service, what),
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
async function endAll({ ends, settings }: RunningService): Promise<void> {
  for (const end of ends.reverse()) {
    try {
      await end();
    } catch (error) {
      errorLog(settings.log)(error);
    }
  }
}

async function stop(running: RunningService, grace: number, drainDelay: number): Promise<void> {
  const { settings: { log }, thread, servers } = running;
  log({ event: "stopping" });
  running.grace = grace;
  thread.drain();
  servers?.drain();
  if (drainDelay > 0) await new Promise((resolve) => setTimeout(resolve, drainDelay));
  await endAll(running);
  log({ event: "stopped" });
}
