/**
 * The Postgres store: limits that hold across machines, in a table of a database that you have anyway.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { postgresStore } from "tidegate/postgres";
 * import { PGlite } from "@electric-sql/pglite";
 *
 * const store = postgresStore(new PGlite());
 * await store.migrate();
 * const api = limiter(gcra({ limit: 100, period: "1m", burst: 100 }), { store, prefix: "api" });
 * console.log((await api.consume("user:42")).allowed);
 * await store.close();
 * ```
 *
 * @module
 */

import { checkOptions } from "../../core/options/checks.ts";
import { compareAndSetStore, type DriverStore } from "../optimistic/compare_and_set.ts";
import { type DriverStoreOptions, ENGINE_CHECKS } from "../optimistic/engine_options.ts";
import { type PostgresClient, statementsOf } from "./clients.ts";
import { postgresDriver } from "./postgres_driver.ts";
import { postgresNames, type PostgresSchemaOptions, SCHEMA_CHECKS } from "./schema.ts";

/** The options of `postgresStore`. */
export interface PostgresStoreOptions extends DriverStoreOptions, PostgresSchemaOptions {}

/** A store in Postgres. */
export interface PostgresStore extends DriverStore {
  /**
   * Makes the table and its function if they are missing. It may run any number of times, and in several
   * processes at once. It needs the right to create both. Calls then need only SELECT, INSERT, UPDATE
   * and DELETE on the table.
   *
   * @throws {Error} If Postgres does not permit it, does not answer, or has another table of that name.
   * The client's error is the `cause`, and nothing was changed.
   */
  migrate(): Promise<void>;
}

/**
 * A store in Postgres 13 or later. The client is a pool of `pg`, the result of `postgres()`, Bun's `SQL`
 * or a PGlite. From a `Client` of `pg` the store takes the settings for a connection of its own. The
 * client stays yours: close it after the store.
 *
 * Calls that arrive while a batch is under way share the next one. A batch is one round trip: one call
 * of a function, which compares the states that the decisions were based on with the table. Many callers
 * of a key cause one row write, and a refusal writes nothing. The database's clock decides. A transaction
 * pooler such as PgBouncer may stand in between.
 *
 * @param client As above.
 * @param options Time limits, the treatment of failures, and the name of the table.
 * @throws {TypeError} If an option is of the wrong type, or the client is of another kind.
 * @throws {RangeError} If an option is out of range.
 */
export function postgresStore(
  client: PostgresClient,
  options: PostgresStoreOptions = {},
): PostgresStore {
  checkOptions<PostgresStoreOptions>("create postgresStore", options, {
    ...ENGINE_CHECKS,
    ...SCHEMA_CHECKS,
  });
  const { table, schema, logged, ...common } = options;
  const place = { table, schema, logged };
  const { deadline = 200 } = common;
  const statements = statementsOf(client, 2 * deadline);
  const driver = postgresDriver(statements, postgresNames(place), place);
  return { ...compareAndSetStore(driver, common), migrate: driver.migrate };
}

export type { PostgresClient, PostgresQueryable, PostgresSql } from "./clients.ts";
export type { Outage } from "../optimistic/circuit_breaker.ts";
export type { ServerStoreStatistics } from "../optimistic/server_statistics.ts";
export type { DriverStore, DriverStoreStatistics } from "../optimistic/compare_and_set.ts";
export type { DriverStoreOptions } from "../optimistic/engine_options.ts";
export { postgresSchema, type PostgresSchemaOptions } from "./schema.ts";
