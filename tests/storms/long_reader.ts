import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { gcra, limiter } from "../../mod.ts";
import { openPath } from "../../stores/sqlite/database.ts";
import { sqliteStore } from "../../stores/sqlite/sqlite_store.ts";
import type { Row, Storm } from "./storm.ts";

/** Calls while a reader keeps the log from being emptied. */
const CALLS = 10_000;

/** A program that reads a SQLite file for long, such as a backup, and the size of the log afterwards. */
export const longReader: Storm = {
  name: "long reader of SQLite",
  run() {
    const folder = mkdtempSync(join(tmpdir(), "tidegate-storm-"));
    const path = join(folder, "limits.db");
    const store = sqliteStore(path);
    const api = limiter(gcra({ limit: 1e9, period: "1h", burst: 1e9 }), { store, prefix: "api" });
    const reader = openPath(path);
    const rows: Row[] = [];
    const note = (log: string) =>
      rows.push({ log, "megabytes": Math.round(statSync(`${path}-wal`).size / 2 ** 20) });
    api.consume("key");
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM tidegate").get();
    for (let call = 0; call < CALLS; call++) api.consume(`key:${call % 1_000}`);
    note("while the reader reads");
    reader.exec("COMMIT");
    for (let call = 0; call < 10; call++) api.consume("key");
    note("ten calls after it has ended");
    reader.close();
    store.close();
    rmSync(folder, { recursive: true });
    return Promise.resolve(rows);
  },
};
