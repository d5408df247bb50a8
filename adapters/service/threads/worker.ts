/*
 * A worker of the service: it serves HTTP and gRPC on the ports that all workers share, over the
 * store that all of them share. Complete rules come from the main thread. A worker asks by message
 * for facts that only the main thread knows (the figures of all threads, individual limits of
 * keys).
 *
 * This file is what a worker runs; it is not imported.
 */

import { type MessagePort, parentPort, workerData } from "node:worker_threads";

import { compileRules } from "../../rules/rules.ts";
import { errorText, type Log } from "../log.ts";
import { openStore, outsideOf } from "../open_store.ts";
import { type PortCall, portCalls } from "./port_calls.ts";
import { type Servers, serviceThread } from "./service_thread.ts";
import type { MainCalls, WorkerSettings } from "./worker_pool.ts";

if (parentPort !== null) await work(parentPort, workerData as WorkerSettings);

async function work(port: MessagePort, settings: WorkerSettings): Promise<void> {
  const main: PortCall<MainCalls> = portCalls(port, () => servers);
  const servers = startServers(main, settings);
  try {
    await main("listening", (await servers).ports);
  } catch (error) {
    await main("failed", errorText(error));
  }
}

async function startServers(
  main: PortCall<MainCalls>,
  settings: WorkerSettings,
): Promise<Servers> {
  const log: Log = (event) => void main("log", event);
  const thread = serviceThread({
    ...settings,
    store: await openStore(settings, log),
    lookup: settings.lookups ? (domain, key) => main("lookup", domain, key) : undefined,
    show: (what) => main("show", what),
    // The main thread reports a shared store, but each thread must report its own use of a
    // database.
    reportsStore: outsideOf(settings) !== undefined,
    log,
  });
  thread.apply(await compileRules(settings.files), settings.version);
  const servers = await thread.serve(settings);
  return {
    ...servers,
    async stop(grace) {
      await servers.stop(grace);
      await thread.close();
    },
  };
}
