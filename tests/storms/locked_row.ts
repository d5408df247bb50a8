import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";

import { gcra, limiter } from "../../mod.ts";
import { postgresStore } from "../../stores/postgres/postgres_store.ts";
import { startPostgres } from "../support/postgres/postgres_process.ts";
import { type Outcome, pacedCalls, percentile } from "./paced_calls.ts";
import type { Row, Storm } from "./storm.ts";

/**
 * A row that another session keeps locked for two seconds. Calls on its key fail within their `timeout`
 * of 250 ms. Calls on other keys go on as before.
 */
export const lockedRow: Storm = {
  name: "locked row",
  async run() {
    const rows: Row[] = [];
    const postgres = await startPostgres();
    const pool = new pg.Pool({ connectionString: postgres.url, max: 4 });
    const store = postgresStore(pool);
    await store.migrate();
    const api = limiter(gcra({ limit: 1e9, period: "1h", burst: 1e9 }), { store, prefix: "api" });
    for (let key = 0; key < 100; key++) await api.consume(`key:${key}`);
    const locker = new pg.Client(postgres.url);
    await locker.connect();
    for (const isLocked of [false, true]) {
      if (isLocked) {
        await locker.query("BEGIN");
        await locker.query("SELECT FROM tidegate WHERE key LIKE '%{key:0}%' FOR UPDATE");
      }
      const [locked, others] = await Promise.all([
        pacedCalls(20, 2_000, () => api.consume("key:0")),
        pacedCalls(300, 2_000, (index) => api.consume(`key:${1 + index % 99}`)),
      ]);
      const title = isLocked ? "locked" : "free";
      rows.push(rowOf(`its key, ${title}`, locked), rowOf(`others, ${title}`, others));
      if (isLocked) await locker.query("ROLLBACK");
      await wait(100);
    }
    await locker.end();
    await store.close();
    await pool.end();
    await postgres.stop();
    return rows;
  },
};

function rowOf(calls: string, outcome: Outcome): Row {
  return {
    calls,
    made: outcome.calls,
    failed: outcome.errors.length,
    "p50 ms": percentile(outcome, 0.5),
    "p99 ms": percentile(outcome, 0.99),
    "longest ms": Math.round(outcome.longest),
    "first error": outcome.errors[0]?.message.slice(0, 150) ?? "",
  };
}
