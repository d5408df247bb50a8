import { after, afterEach, before, describe } from "node:test";
import pg from "pg";

import {
  type PostgresClient,
  type PostgresStore,
  postgresStore,
  type PostgresStoreOptions,
} from "../../../stores/postgres/postgres_store.ts";
import { needs } from "../program.ts";
import { type PostgresProcess, startPostgres } from "./postgres_process.ts";

/** The means of tests that share a server; all that was opened is closed after each. */
export interface Opened {
  /** A store with limits that a slow machine does not reach, unless the options say otherwise. */
  storeOf(options?: PostgresStoreOptions, client?: PostgresClient): PostgresStore;
  /** A pool. */
  poolOf(settings?: pg.PoolConfig): pg.Pool;
  /** Runs a statement. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

/** Tests that share one Postgres with the table of a store. */
export function withPostgres(
  name: string,
  tests: (postgres: () => PostgresProcess, opened: Opened) => void,
): void {
  const { skip } = needs("postgres");
  describe(name, { skip }, () => {
    let postgres: PostgresProcess | undefined;
    let stores: PostgresStore[] = [];
    let pools: pg.Pool[] = [];
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
      if (skip) return;
      postgres = await startPostgres();
      await opened.storeOf().migrate();
      await closeAll();
    });
    afterEach(closeAll);
    after(async () => {
      await postgres?.stop();
    });
    tests(() => postgres!, opened);
  });
}
