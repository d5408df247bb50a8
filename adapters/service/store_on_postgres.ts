/*
 * Makes the service's store on Postgres from plain settings: a configuration file or command line can
 * give a URL, but no client.
 */

import type { AsyncStore } from "../../mod.ts";
import { type PostgresQueryable, postgresStore } from "../../stores/postgres/postgres_store.ts";
import { loadPackage } from "../optional_packages/load_package.ts";

/** How the service uses Postgres. */
export interface PostgresOptions {
  /** The database: `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** How calls are decided when Postgres does not answer; default `"throw"`, which answers 503. */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
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
 *
 * @param onError Receives the error of each outage, and the error of creating the table.
 * @throws {Error} If the package is not installed; the message names the command that installs it.
 */
export async function storeOnPostgres(
  { url, onUnavailable = "throw" }: PostgresOptions,
  onError: (error: unknown) => void,
): Promise<AsyncStore> {
  const { Pool } = await loadPg();
  const pool = new Pool({ connectionString: url });
  const store = postgresStore(pool, {
    onUnavailable,
    onOutage: ({ cause }) => cause === undefined ? undefined : onError(cause),
  });
  store.onClose?.(() => void pool.end().catch(onError));
  await store.migrate().catch(onError);
  return store;
}

async function loadPg(): Promise<Pg> {
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
  const { default: inner } = loaded as { readonly default?: Pg };
  return inner ?? loaded as Pg;
}
