import pg from "pg";
import postgres from "postgres";

import type { PostgresClient } from "../../../stores/postgres/postgres_store.ts";
import { runtime } from "../runtime.ts";
import { bunSql } from "./bun_sql.ts";

/** Makes a client for an address, and what closes it. */
export type ClientOf = (url: string) => [PostgresClient, () => Promise<unknown>];

/** A client of each kind that this runtime has, by name. */
export const CLIENTS: Readonly<Record<string, ClientOf>> = {
  "a pool of pg": (url) => {
    const pool = new pg.Pool({ connectionString: url });
    return [pool, () => pool.end()];
  },
  "a client of pg": (url) => [new pg.Client({ connectionString: url }), async () => {}],
  "postgres": (url) => {
    // The client handles no failure of its own query for types: docs/postgres.md.
    const sql = postgres(url, { onnotice: () => {}, fetch_types: false });
    return [sql, () => sql.end({ timeout: 1 })];
  },
  ...(runtime() === "bun" && {
    "Bun's SQL": (url: string): ReturnType<ClientOf> => {
      const sql = bunSql(url);
      return [sql, () => sql.close()];
    },
  }),
};
