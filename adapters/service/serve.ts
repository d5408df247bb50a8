/*
 * The decision service. Its parts are started one after the other, each adds a function that ends
 * it, and all end in the opposite order.
 */

import type { Store } from "../../mod.ts";
import type { SharedStore } from "../../stores/shared/shared_store.ts";
import { type FollowedRules, followRules, problemText } from "../rules/rules.ts";
import { takePort } from "./http/shared_port.ts";
import { errorLog } from "./log.ts";
import { addFigures, figuresOf, type FiguresSnapshot } from "./metrics/figures_snapshot.ts";
import { type History, history } from "./metrics/history.ts";
import { liveDocument, type LiveRequest, type StoreKind } from "./metrics/live_document.ts";
import { metricsText } from "./metrics/metrics_text.ts";
import { processFigures, type ServiceEvents } from "./metrics/process_figures.ts";
import { openStore, outsideOf } from "./open_store.ts";
import { readServeOptions, type ServeOptions, type ServeSettings } from "./serve_options.ts";
import { NO_VERSION, type RulesVersion, rulesVersion } from "./rules_version.ts";
import { readInWorker } from "./threads/read_in_worker.ts";
import {
  type Ports,
  type Servers,
  type ServiceThread,
  serviceThread,
  type ThreadLinks,
} from "./threads/service_thread.ts";
import { startWorkers, type WorkerSettings } from "./threads/worker_pool.ts";
import { type FollowedTls, followTlsKeys } from "./tls_keys.ts";

/** A service that is running. */
export interface Service {
  /** Where HTTP is served: `http://127.0.0.1:8080`, with TLS `https://...`. */
  readonly url: string;
  /** The port of HTTP. */
  readonly port: number;
  /** The port of gRPC; `undefined` without gRPC. */
  readonly grpcPort: number | undefined;
  /** Reads the rules and the certificate now; answers whether both could be used. */
  reload(): Promise<boolean>;
  /** The counts of all threads. */
  figures(): Promise<FiguresSnapshot>;
  /**
   * Ends the service: after the `drainDelay` it takes no more calls, and gives calls under way
   * `grace` milliseconds to end; default 5,000.
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
 * @throws {TypeError} If options cannot be combined.
 *
 * @example
 * ```ts
 * import { serve } from "tidegate/serve";
 * import { objectSource } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const rules = objectSource({
 *   domain: "shop",
 *   rules: [{ key: "user", limits: [{ limit: 1, period: "1m", burst: 1 }] }],
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
        // An explicit reload, such as SIGHUP, means the files as they are now, even if they are
        // shorter.
        const both = await Promise.all([followed.reload(true), running.tls?.reload() ?? true]);
        return both.every(Boolean);
      },
      figures: () => allFigures(running, ""),
      stop: (grace = 5_000, drainDelay = ownDelay) => stopped ??= stop(running, grace, drainDelay),
    };
  } catch (error) {
    await endAll(running, 0);
    throw error;
  }
}

/** A running service, as data. */
interface RunningService {
  readonly settings: ServeSettings;
  readonly store: Store;
  /** This thread: the only thread, or the main thread of workers. */
  readonly thread: ServiceThread;
  readonly links: ThreadLinks;
  /** This thread, or the workers. */
  servers?: Servers;
  /** Only with TLS. */
  tls?: FollowedTls;
  readonly events: ServiceEvents;
  readonly startedAt: number;
  /** The last hour. */
  readonly history: History;
  /** The rules that are in force. */
  version: RulesVersion;
  /** The rules' source, once they are loaded. */
  followed?: FollowedRules;
  /**
   * The functions that end the parts, in the order in which the parts were started. Calls may go on
   * for `grace` milliseconds.
   */
  readonly ends: ((grace: number) => Promise<unknown> | void)[];
}

/** Makes a service with its store and its thread, but without rules and servers. */
async function openService(settings: ServeSettings): Promise<RunningService> {
  const { log, source } = settings;
  const store = await openStore(settings, log);
  const startedAt = Date.now();
  const links: ThreadLinks = {
    lookup: source.lookup?.bind(source),
    show: (what) => show(service, what),
    log,
  };
  const service: RunningService = {
    settings,
    store,
    links,
    thread: serviceThread({ ...settings, ...links, store, reportsStore: true }),
    events: { restarts: 0, loads: 0, refusals: 0, loadedAt: 0, refusedAt: 0 },
    startedAt,
    history: history(startedAt),
    version: NO_VERSION,
    ends: [() => service.thread.close()],
  };
  service.ends.push(keepHistory(service));
  return service;
}

/**
 * Records the counts at the beginning of each minute; returns a function that stops the recording.
 */
function keepHistory(service: RunningService): () => void {
  const wait = () => 60_000 - Date.now() % 60_000;
  let timer: ReturnType<typeof setTimeout> | undefined = setTimeout(async function look() {
    await recorded(service).catch(errorLog(service.settings.log));
    if (timer !== undefined) timer = setTimeout(look, wait());
  }, wait());
  return () => {
    clearTimeout(timer);
    timer = undefined;
  };
}

/** The counts of all threads, which are recorded in the history first. */
async function recorded(service: RunningService, search?: string): Promise<FiguresSnapshot> {
  const now = Date.now();
  const figures = await allFigures(service, search);
  service.history.record(figures, now);
  return figures;
}

/** The text of the metrics, or the document of the page. */
async function show(service: RunningService, request: "metrics" | LiveRequest): Promise<string> {
  if (request === "metrics") return metricsText(await allFigures(service), service.version.hash);
  const { settings, events, followed, startedAt, thread, history } = service;
  const { source, shadow, token } = settings;
  const figures = await recorded(service, request.own ? request.search : undefined);
  const reason = followed?.refusal ?? "";
  const failedAt = reason === "" ? null : events.refusedAt;
  return JSON.stringify(liveDocument({
    now: Date.now(),
    startedAt,
    needsToken: token !== undefined,
    loaded: {
      at: events.loadedAt,
      version: service.version.hash,
      failedAt,
      source: source.name,
      reason,
    },
    rules: thread.engine.rules,
    figures,
    history,
    shadow,
    storeKind: storeKindOf(settings),
    outagePolicy: outsideOf(settings)?.policy,
  }, request));
}

function storeKindOf(settings: ServeSettings): StoreKind {
  if (settings.store !== undefined) return "own";
  return outsideOf(settings)?.kind ?? (settings.threads > 1 ? "shared" : "memory");
}

/**
 * The counts of all threads.
 *
 * @param search Text that the listed keys contain; without it the figures have no keys.
 */
async function allFigures(
  { settings: { threads }, thread, servers, events }: RunningService,
  search?: string,
): Promise<FiguresSnapshot> {
  const here = thread.figures.snapshot(search);
  const all = addFigures(
    threads === 1 || servers === undefined
      ? [here]
      : [{ ...here, threads: 0 }, await servers.figures(search)],
  );
  // Workers that have ended may have counted rules that no longer exist.
  const rules = all.rules.filter(figuresOf(thread.engine.rules));
  return { ...all, rules, process: processFigures(events) };
}

/** Loads the rules, and follows their changes. */
async function followSource(service: RunningService): Promise<FollowedRules> {
  const { thread, events, settings: { source, format, mergeDomains, threads, log } } = service;
  const workers = () => threads > 1 ? service.servers : undefined;
  const followed = await followRules(source, {
    format,
    mergeDomains,
    read: readInWorker,
    apply(rules, documents) {
      service.version = rulesVersion(documents);
      thread.apply(rules, service.version);
      void workers()?.apply(rules.files, service.version);
    },
    onEvent({ problems, ...event }) {
      const refused = event.event === "rules-refused";
      events[refused ? "refusals" : "loads"]++;
      events[refused ? "refusedAt" : "loadedAt"] = Date.now();
      const level = refused ? "error" : "info";
      log({ ...event, level, problems: problems.slice(0, 20).map(problemText) });
    },
    onLimitsChanged() {
      thread.engine.forgetLookups();
      workers()?.forgetLookups();
    },
  });
  service.ends.push(() => followed.close());
  return service.followed = followed;
}

/** Reads the certificate, if there is one, and follows its changes. */
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
  service.ends.push(servers.stop);
  return servers.ports;
}

async function startPool(service: RunningService): Promise<Servers> {
  const { thread: { engine }, settings, links } = service;
  const { hostname, port, grpcPort = 0, threads } = settings;
  const { rules } = engine;
  for (const each of [port, grpcPort]) {
    if (each !== 0) service.ends.push(await takePort(hostname, each));
  }
  const workers = service.servers = await startWorkers({
    size: threads,
    settings: (shared) => workerSettings(service, shared),
    links,
    onRestart: () => service.events.restarts++,
  });
  // The rules may have changed while the workers started.
  if (engine.rules !== rules) void workers.apply(engine.rules.files, service.version);
  return workers;
}

function serverSettings({ settings, tls }: RunningService) {
  const { source: _source, log: _log, store: _store, grpcPort, ...plain } = settings;
  return { ...plain, grpcPort, reusePort: settings.threads > 1, tls: tls?.keys() };
}

function workerSettings(service: RunningService, shared: Ports | undefined): WorkerSettings {
  const { settings, store, thread, version } = service;
  return {
    ...serverSettings(service),
    ...shared,
    handle: outsideOf(settings) === undefined ? (store as SharedStore).handle : undefined,
    files: thread.engine.rules.files,
    version,
    lookups: settings.source.lookup !== undefined,
  };
}

/** Ends all parts, the last part first. It continues if the end of a part fails. */
async function endAll({ ends, settings }: RunningService, grace: number): Promise<void> {
  for (const end of ends.reverse()) {
    try {
      await end(grace);
    } catch (error) {
      errorLog(settings.log)(error);
    }
  }
}

async function stop(running: RunningService, grace: number, drainDelay: number): Promise<void> {
  const { settings: { log }, servers } = running;
  log({ event: "stopping" });
  servers?.drain();
  if (drainDelay > 0) await new Promise((resolve) => setTimeout(resolve, drainDelay));
  await endAll(running, grace);
  log({ event: "stopped" });
}
