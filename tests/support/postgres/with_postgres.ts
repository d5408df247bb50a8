import { after, afterEach, before, describe } from "node:test";
import process from "node:process";
import pg from "pg";

import {
  type PostgresClient,
  type PostgresStore,
  postgresStore,
  type PostgresStoreOptions,
} from "../../../stores/postgres/postgres_store.ts";
import { type PostgresProcess, startPostgres } from "./postgres_process.ts";

/** The means of tests that share a server; all that was opened is closed after each. */
export interface Opened {
  /** A store with limits that a slow machine does not reach, unless the options say otherwise. */
  storeOf(options?: PostgresStoreOptions, client?: PostgresClient): PostgresStore;
  /** A pool. */
  poolOf(settings?: pg.PoolConfig): pg.Pool;
  /** Calls a function when all tests are over, before the server is stopped. */
  atEnd(close: () => Promise<unknown>): void;
  /** Runs a statement. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

/**
 * Tests that share one Postgres with the table of a store. `npm run postgres` runs them, where there is
 * such a server; `npm test` runs the laws on PGlite.
 */
export function withPostgres(
  name: string,
  tests: (postgres: () => PostgresProcess, opened: Opened) => void,
): void {
  if (process.env["TIDEGATE_POSTGRES"] !== "1") return;
  describe(name, () => {
    let postgres: PostgresProcess | undefined;
    let stores: PostgresStore[] = [];
    let pools: pg.Pool[] = [];
    const ends: (() => Promise<unknown>)[] = [];
    const opened: Opened = {
      storeOf(options, client = opened.poolOf()) {
        const store = postgresStore(client, { deadline: 30_000, timeout: 60_000, ...options });
        stores.push(store);
        return store;
      },
      poolOf(settings) {
        const pool = new pg.Pool({ connectionString: postgres!.url, max: 4, ...settings });
        pool.on("error", () => {});
        pools.push(pool);
        return pool;
      },
      atEnd: (close) => void ends.push(close),
      async sql(text, values) {
        const { rows } = await opened.poolOf({ max: 1 }).query(text, values);
        return rows;
      },
    };
    async function closeAll(): Promise<void> {
      await Promise.all(stores.map((store) => store.close()));
      await Promise.all(pools.map((pool) => pool.end()));
      stores = [];
      pools = [];
    }
    before(async () => {
      postgres = await startPostgres();
      await opened.storeOf().migrate();
      await closeAll();
    });
    afterEach(closeAll);
    after(async () => {
      for (const end of ends) await end();
      await postgres?.stop();
    });
    tests(() => postgres!, opened);
  });
}
