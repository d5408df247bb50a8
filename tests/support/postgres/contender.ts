/*
 * A process that contends for the keys of a Postgres, and prints its report. Started by
 * exactness.server.ts.
 */
import process from "node:process";
import pg from "pg";

import { postgresStore } from "../../../stores/postgres/postgres_store.ts";
import { contend, whenAllAreReady } from "../drivers/contend.ts";

const [url = "", limit = "", processes = ""] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 4 });
const store = postgresStore(pool, { deadline: 30_000, timeout: 60_000 });

await pool.query("INSERT INTO ready VALUES (1)");
await whenAllAreReady(async () => {
  const { rows: [row] } = await pool.query("SELECT count(*) AS count FROM ready");
  return Number(row.count);
}, Number(processes));
console.log(JSON.stringify(await contend(store, Number(limit), Number(processes))));
await store.close();
await pool.end();
