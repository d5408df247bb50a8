/*
 * A process that takes from one key until it is killed. It writes a byte for each call that was
 * answered. Started by kills.test.ts.
 */
import { writeSync } from "node:fs";
import process from "node:process";

import { limiter } from "../../../mod.ts";
import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { slow } from "./contest.ts";

const [path = "", limit = ""] = process.argv.slice(2);
const store = sqliteStore(path, { timeout: 20_000 });
const api = limiter(slow(Number(limit)), { store, prefix: "kill" });
for (;;) {
  if (api.consume("key").allowed) writeSync(1, ".");
}
