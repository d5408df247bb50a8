/*
 * A worker of the service: it serves HTTP and gRPC on the ports that all workers share, over the
 * store that all of them share. Rules come from the main thread, whole; what only the main thread knows (the
 * figures of all, limits of keys of their own) is asked for by message.
 *
 * This file is what a worker runs; it is not imported.
 */

import { parentPort, workerData } from "node:worker_threads";

import type { Store } from "../../../mod.ts";
import { attachSharedStore } from "../../../stores/shared/shared_store.ts";
import { compileRules, type RuleFile } from "../../rules/rules.ts";
import { errorLog, errorText, type Log } from "../log.ts";
import { observedStore } from "../observed_store.ts";
import { storeOnRedis } from "../store_on_redis.ts";
import { type PortCall, portCalls } from "./port_calls.ts";
import { type Servers, type ServiceThread, serviceThread } from "./service_thread.ts";
import type { MainCalls, WorkerCalls, WorkerSettings } from "./worker_pool.ts";

if (parentPort !== null) await work(parentPort, workerData as WorkerSettings);

async function work(
  port: NonNullable<typeof parentPort>,
  settings: WorkerSettings,
): Promise<void> {
  const main: PortCall<MainCalls> = portCalls(port, () => worker);
  const worker = openWorker(main, settings);
  try {
    await main("listening", (await (await worker).servers).ports);
  } catch (error) {
    await main("failed", errorText(error));
  }
}

async function openWorker(
  main: PortCall<MainCalls>,
  settings: WorkerSettings,
): Promise<WorkerCalls & { readonly servers: Promise<Servers> }> {
  const log: Log = (event) => void main("log", event);
  const store = await openStore(settings, log);
  const thread = threadOn(main, settings, store, log);
  // Rules take effect in the order in which they came.
  let applied = apply(thread, settings.files);
  const servers = applied.then(() => thread.serve(settings));
  return {
    servers,
    apply: (files) => applied = applied.then(() => apply(thread, files)).catch(errorLog(log)),
    forgetLookups: () => thread.engine.forgetLookups(),
    figures: (search) => thread.figures.snapshot(search),
    async drain() {
      thread.drain();
      (await servers).drain();
    },
    secure: async (keys) => (await servers).secure(keys),
    async stop(grace) {
      await (await servers).stop(grace);
      await thread.close();
    },
  };
}

async function openStore({ store, openTelemetry }: WorkerSettings, log: Log): Promise<Store> {
  const opened = "handle" in store
    ? attachSharedStore(store.handle)
    : await storeOnRedis(store.redis, errorLog(log, "redis-error"));
  return await observedStore(opened, openTelemetry);
}

function threadOn(
  main: PortCall<MainCalls>,
  settings: WorkerSettings,
  store: Store,
  log: Log,
): ServiceThread {
  return serviceThread({
    ...settings,
    store,
    lookup: settings.lookups ? (domain, key) => main("limits", domain, key) : undefined,
    show: (what) => main("show", what),
    // A shared store is reported by the main thread; what Redis is asked, each thread knows itself.
    reportsStore: "redis" in settings.store,
    log,
  });
}

async function apply(thread: ServiceThread, files: readonly RuleFile[]): Promise<void> {
  thread.apply(await compileRules(files));
}
