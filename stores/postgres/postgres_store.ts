/**
 * The Postgres store: limits that hold across machines, in a table of a database that is there anyway.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { postgresStore } from "tidegate/postgres";
 * import { PGlite } from "@electric-sql/pglite";
 *
 * const store = postgresStore(new PGlite());
 * await store.migrate();
 * const api = limiter(gcra({ limit: 100, period: "1m" }), { store, prefix: "api" });
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
import { checkName, postgresNames, type PostgresSchemaOptions } from "./schema.ts";

/** The options of `postgresStore`. */
export interface PostgresStoreOptions extends DriverStoreOptions, PostgresSchemaOptions {}

/** A store in Postgres. */
export interface PostgresStore extends DriverStore {
  /**
   * Makes the table and its function if they are not there; may run as often as you like, and in several
   * processes at a time. It needs the right to create both; deciding needs only SELECT, INSERT, UPDATE and
   * DELETE on the table.
   *
   * @throws {Error} If Postgres does not permit it, does not answer, or has another table of that name;
   * with the client's error as `cause`. Nothing was changed then.
   */
  migrate(): Promise<void>;
}

/**
 * A store in Postgres 13 or later, on a pool of `pg`, on what `postgres()` or Bun's `SQL` return, or on a
 * PGlite; a `Client` of `pg` lends its settings to a connection of the store's own. The client stays yours:
 * close it after the store.
 *
 * Calls that arrive while a batch is under way share the next one, which is one round trip: one statement,
 * a call of a function, that compares what the calls were decided by with what the table holds. Many callers
 * of a key are one row write, and a refusal writes nothing. The database's clock decides. Transaction
 * poolers such as PgBouncer may stand in between.
 *
 * @param client As above.
 * @param options Time limits, what to do at failures, and where the table is.
 * @throws {TypeError} If an option is of the wrong type, or the client is of another kind.
 * @throws {RangeError} If an option is out of range.
 */
export function postgresStore(
  client: PostgresClient,
  options: PostgresStoreOptions = {},
): PostgresStore {
  checkOptions<PostgresStoreOptions>("create postgresStore", options, {
    ...ENGINE_CHECKS,
    table: checkName,
    schema: checkName,
    logged: true,
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
export type { DriverStore, DriverStoreStatistics } from "../optimistic/compare_and_set.ts";
export type { DriverStoreOptions } from "../optimistic/engine_options.ts";
export { postgresSchema, type PostgresSchemaOptions } from "./schema.ts";
