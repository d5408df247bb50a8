/*
 * The Postgres clients that the store supports, each behind one function that runs a statement.
 */

import { typeError } from "../../core/options/checks.ts";
import { ownConnection, type PgClient } from "./own_connection.ts";
import type { Statements } from "./postgres_driver.ts";

/** A pool of the package `pg`, a PGlite, or any other object with such a `query`. */
export interface PostgresQueryable {
  /** Runs a statement on any connection, in a transaction of its own. */
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/** A client of the package `postgres`, or Bun's `SQL`. */
export interface PostgresSql {
  /** Runs a statement on any connection, in a transaction of its own. */
  unsafe(text: string, values: never[], options?: { prepare: boolean }): PromiseLike<unknown>;
}

/** A client that `postgresStore` takes. */
export type PostgresClient = PostgresQueryable | PostgresSql;

/** The most statements at a time on a pool: one batch, and some left over from an outage. */
const MOST_OF_POOL = 4;

/**
 * Recognises a client.
 *
 * @param mostWait Milliseconds after which no caller waits for an answer any longer.
 */
export function statementsOf(client: PostgresClient, mostWait: number): Statements {
  const { unsafe, query, connectionParameters, totalCount } = (client ?? {}) as
    & Partial<PostgresSql>
    & Partial<PostgresQueryable>
    & { readonly connectionParameters?: unknown; readonly totalCount?: unknown };
  if (typeof unsafe === "function") return bySql(client as PostgresSql);
  if (typeof query !== "function") {
    const rule = "its client must have query (pg, PGlite) or unsafe (postgres, Bun's SQL)";
    throw typeError("create postgresStore", rule, client);
  }
  if (connectionParameters !== undefined) {
    return ownConnection(client as unknown as PgClient, mostWait);
  }
  return typeof totalCount === "number"
    ? byPool(client as unknown as PgPool, mostWait)
    : byQuery(client as PostgresQueryable);
}

function byQuery(client: PostgresQueryable): Statements {
  return {
    run: async (text, values) => rowsOf(await client.query(text, [...values])),
    most: MOST_OF_POOL,
  };
}

/** The members that we use of a pool of the package `pg`. */
interface PgPool {
  query(statement: unknown): Promise<{ rows: unknown[] }>;
  on(event: "error", listener: () => void): unknown;
  off(event: "error", listener: () => void): unknown;
}

function byPool(pool: PgPool, mostWait: number): Statements {
  // Without a listener, the loss of an idle connection would end the process.
  const ignore = () => {};
  pool.on("error", ignore);
  return {
    run: async (text, values, name) =>
      rowsOf(await pool.query({ name, text, values: [...values], query_timeout: mostWait })),
    most: MOST_OF_POOL,
    close: () => void pool.off("error", ignore),
  };
}

function bySql(sql: PostgresSql): Statements {
  return {
    async run(text, values, name) {
      const prepare = name !== undefined;
      const rows = await sql.unsafe(text, [...values] as never[], { prepare });
      return [...rows as readonly Record<string, unknown>[]];
    },
    most: MOST_OF_POOL,
  };
}

function rowsOf({ rows }: { rows: unknown[] }): readonly Record<string, unknown>[] {
  return rows as readonly Record<string, unknown>[];
}
