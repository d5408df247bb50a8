/*
 * A process that contends for the keys of a SQLite file, by calls alone and by one transaction a turn,
 * and prints a report of each. Started by processes.test.ts.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";

import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { contend, whenAllAreReady } from "../drivers/contend.ts";

const [path = "", limit = "", processes = ""] = process.argv.slice(2);
const folder = dirname(path);
const stores = [
  sqliteStore(path, { timeout: 20_000 }),
  sqliteStore(path, { timeout: 20_000, batch: "turn" }),
];

writeFileSync(join(folder, `ready ${process.pid}`), "");
await whenAllAreReady(() => {
  const ready = readdirSync(folder).filter((name) => name.startsWith("ready"));
  return Promise.resolve(ready.length);
}, Number(processes));
const reports = [];
for (const [index, store] of stores.entries()) {
  reports.push(await contend(store, Number(limit), Number(processes), `${index} `));
  await store.close();
}
console.log(JSON.stringify(reports));
