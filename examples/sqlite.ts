/*
 * Limits in a file: they survive a restart, and all processes of the machine share them. This program
 * opens the file, is "restarted", and continues with the same use.
 *
 *   bun examples/sqlite.ts
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gcra, limiter } from "tidegate";
import { sqliteStore } from "tidegate/sqlite";

const folder = mkdtempSync(join(tmpdir(), "limits-"));

for (const start of ["first", "second"]) {
  using store = sqliteStore(join(folder, "limits.db"));
  const api = limiter(gcra({ limit: 3, period: "1m", burst: 3 }), { store, prefix: "api" });
  for (let call = 0; call < 2; call++) {
    const { allowed, remaining } = api.consume("user:42");
    console.log(`${start} start: ${allowed ? `ok, ${remaining} left` : "refused"}`);
  }
}

rmSync(folder, { recursive: true });
