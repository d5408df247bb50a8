/*
 * A process that contends for the keys of a MariaDB, and prints its report. Started by mysql.server.ts.
 */
import process from "node:process";
import { createPool, type RowDataPacket } from "mysql2/promise";

import { mysql } from "../../../examples/drivers/mysql.ts";
import { compareAndSetStore } from "../../../stores/stores.ts";
import { contend, whenAllAreReady } from "../drivers/contend.ts";

const [uri = "", limit = "", processes = ""] = process.argv.slice(2);
const pool = createPool({ uri, multipleStatements: true, connectionLimit: 4 });
const store = compareAndSetStore(mysql(pool), { deadline: 30_000, timeout: 60_000 });

await pool.query("INSERT INTO ready VALUES (1)");
await whenAllAreReady(async () => {
  const [[row]] = await pool.query<RowDataPacket[]>("SELECT count(*) AS count FROM ready");
  return Number(row!["count"]);
}, Number(processes));
console.log(JSON.stringify(await contend(store, Number(limit), Number(processes))));
await store.close();
await pool.end();
