/*
 * Opens the store that the settings ask for. All threads of a service must share their counters, so
 * unless the settings name a store or Redis, several threads get a store in shared memory.
 */

import { memoryStore, type Store } from "../../mod.ts";
import {
  attachSharedStore,
  sharedStore,
  type SharedStoreHandle,
} from "../../stores/shared/shared_store.ts";
import { loadPackage } from "../optional_packages/load_package.ts";
import { errorLog, type Log } from "./log.ts";
import { type PostgresOptions, storeOnPostgres } from "./store_on_postgres.ts";
import { type RedisOptions, storeOnRedis } from "./store_on_redis.ts";
import { sqliteStore } from "../../stores/sqlite/sqlite_store.ts";

/** How the service uses a SQLite file. */
export interface SqliteOptions {
  /** The path of the file, which is created if it does not exist. */
  readonly path: string;
  /** How calls are decided while another process holds the lock; default `"throw"`, which answers 503. */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
}

/** A database or a file that keeps the counters, in place of the memory of the service. */
export interface OutsideSettings {
  readonly redis?: RedisOptions | undefined;
  readonly postgres?: PostgresOptions | undefined;
  readonly sqlite?: SqliteOptions | undefined;
}

/** The settings of whatever keeps the counters outside; `undefined` if nothing does. */
export function outsideOf(
  { redis, postgres, sqlite }: OutsideSettings,
): Pick<RedisOptions, "onUnavailable"> | undefined {
  return redis ?? postgres ?? sqlite;
}

/**
 * The store of a thread: the program's own store, an outside store, a shared store, or a store of
 * this process.
 */
export interface StoreSettings extends OutsideSettings {
  readonly store?: Store | undefined;
  /** The shared store of the main thread. */
  readonly handle?: SharedStoreHandle | undefined;
  readonly threads: number;
  readonly capacity: number;
  readonly openTelemetry: boolean;
}

/**
 * Opens the store of a thread, which reports to OpenTelemetry if the settings say so.
 *
 * @throws {Error} If a package is not installed; the message names the command that installs it.
 */
export async function openStore(settings: StoreSettings, log: Log): Promise<Store> {
  const store = await opened(settings, log);
  if (!settings.openTelemetry) return store;
  const { openTelemetryStore } = await loadPackage({
    name: "@opentelemetry/api",
    action: "report to OpenTelemetry",
    since: "1.3",
    load: () => import("../otel/otel.ts"),
    isRecent: (module) => "openTelemetryStore" in module,
  });
  return openTelemetryStore(store);
}

function opened(
  { store, redis, postgres, sqlite, handle, threads, capacity }: StoreSettings,
  log: Log,
): Store | Promise<Store> {
  if (store !== undefined) return store;
  if (redis !== undefined) return storeOnRedis(redis, errorLog(log, "redis-error"));
  if (postgres !== undefined) return storeOnPostgres(postgres, errorLog(log, "postgres-error"));
  if (sqlite !== undefined) {
    return sqliteStore(sqlite.path, { onUnavailable: sqlite.onUnavailable });
  }
  if (handle !== undefined) return attachSharedStore(handle);
  return threads > 1 ? sharedStore({ capacity }) : memoryStore({ maxKeys: capacity });
}
