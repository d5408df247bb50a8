/*
 * Opens the store that the settings ask for. All threads of a service must share their counters, so
 * unless the settings name a store or Redis, several threads get a store in shared memory.
 */

import { type AsyncStore, memoryStore, type Store } from "../../mod.ts";
import { type PostgresQueryable, postgresStore } from "../../stores/postgres/postgres_store.ts";
import { type RedisClient, redisStore } from "../../stores/redis/redis_store.ts";
import {
  attachSharedStore,
  sharedStore,
  type SharedStoreHandle,
} from "../../stores/shared/shared_store.ts";
import { sqliteStore } from "../../stores/sqlite/sqlite_store.ts";
import { loadPackage } from "../optional_packages/load_package.ts";
import { loadRedis } from "./load_redis.ts";
import { errorLog, type Log } from "./log.ts";
import type { PostgresOptions, RedisOptions, ServeSettings } from "./serve_options.ts";

/** The options that keep the counters in a database or a file, in place of the service's memory. */
const OUTSIDE = ["redis", "postgres", "sqlite"] as const;

type OutsideSettings = Pick<ServeSettings, typeof OUTSIDE[number]>;

interface OutsideStore {
  readonly kind: typeof OUTSIDE[number];
  readonly policy: "throw" | "allow" | "deny";
}

/** The store outside that keeps the counters, if any, and how calls are decided without it. */
export function outsideOf(settings: OutsideSettings): OutsideStore | undefined {
  const kind = OUTSIDE.find((each) => settings[each] !== undefined);
  return kind && { kind, policy: settings[kind]!.onUnavailable ?? "throw" };
}

/**
 * The store of a thread: the program's own store, an outside store, a shared store, or a store of
 * this process.
 */
export interface StoreSettings
  extends OutsideSettings, Pick<ServeSettings, "store" | "threads" | "capacity" | "openTelemetry"> {
  /** The shared store of the main thread. */
  readonly handle?: SharedStoreHandle | undefined;
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

type OnError = (error: unknown) => void;

/** The options of a store that reports its outages. */
function storeOptions({ onUnavailable, deadline }: Omit<RedisOptions, "url">, onError: OnError) {
  return {
    onUnavailable,
    deadline,
    onOutage: ({ cause }: { readonly cause?: unknown }) => {
      if (cause !== undefined) onError(cause);
    },
  };
}

/**
 * A store on Redis with a client of its own, by the package `redis`: a configuration file or command
 * line can give a URL, but no client.
 *
 * @param onError Receives errors of the connection, which is reopened automatically.
 */
export async function storeOnRedis(options: RedisOptions, onError: OnError): Promise<AsyncStore> {
  const { createClient } = await loadRedis();
  const client = createClient({ url: options.url });
  client.on("error", onError);
  return redisStore(client as unknown as RedisClient, storeOptions(options, onError));
}

/** The part of the package `pg` that is used here. */
interface Pg {
  readonly Pool: new (settings: { readonly connectionString: string }) => PostgresQueryable & {
    end(): Promise<void>;
  };
}

/**
 * Makes a store on Postgres with a pool of its own, from the package `pg`. It also creates the
 * table. If the database user may not create tables, the table must exist already.
 */
async function storeOnPostgres(options: PostgresOptions, onError: OnError): Promise<AsyncStore> {
  const loaded: unknown = await loadPackage({
    name: "pg",
    action: "use Postgres",
    since: "8.11",
    load: () => import("pg") as Promise<unknown>,
    // The version is not checked here, because postgresStore checks the pool.
    isRecent: () => true,
  });
  // An imported CommonJS package has its exports in `default`; a bundler may have unwrapped
  // them.
  const { Pool } = (loaded as { readonly default?: Pg }).default ?? loaded as Pg;
  const pool = new Pool({ connectionString: options.url });
  const store = postgresStore(pool, storeOptions(options, onError));
  store.onClose?.(() => void pool.end().catch(onError));
  await store.migrate().catch(onError);
  return store;
}
