import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";

import { gcra, limiter } from "../../mod.ts";
import { postgresStore } from "../../stores/postgres/postgres_store.ts";
import { startPostgres } from "../support/postgres/postgres_process.ts";
import { pacedCalls, percentile } from "./paced_calls.ts";
import type { Row, Storm } from "./storm.ts";

/** One connection of the pool, or all of them. */
const AT_ONCE = [1, 8];

/**
 * A database that ends one connection of a pool five times, as an administrator or a failover does; then
 * all of its connections. The application uses the pool, too. No call need fail, because the server says
 * that it has rolled back.
 */
export const terminatedBackend: Storm = {
  name: "terminated backend",
  async run() {
    const rows: Row[] = [];
    const postgres = await startPostgres();
    for (const count of AT_ONCE) {
      const pool = new pg.Pool({
        connectionString: postgres.url,
        max: 4,
        application_name: "storm",
      });
      const outages: string[] = [];
      const store = postgresStore(pool, { onOutage: ({ state }) => outages.push(state) });
      await store.migrate();
      const api = limiter(gcra({ limit: 1e9, period: "1h", burst: 1e9 }), { store, prefix: "api" });
      const application = Array.from({ length: 6 }, () => useFor(2_500, pool));
      await wait(500);
      const calls = pacedCalls(500, 2_000, (index) => api.consume(`key:${index % 100}`));
      const admin = new pg.Client(postgres.url);
      await admin.connect();
      for (let round = 0; round < 5; round++) {
        await wait(300);
        await admin.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'storm' " +
            `ORDER BY query LIKE '%commit%' DESC LIMIT ${count}`,
        );
      }
      const outcome = await calls;
      rows.push({
        "connections ended at once": count,
        calls: outcome.calls,
        failed: outcome.errors.length,
        "p99 ms": percentile(outcome, 0.99),
        "longest ms": Math.round(outcome.longest),
        outages: outages.filter((state) => state === "began").length,
        "first error": outcome.errors[0]?.message.slice(0, 120) ?? "",
      });
      await Promise.all(application);
      await admin.end();
      await store.close();
      await pool.end();
    }
    await postgres.stop();
    return rows;
  },
};

/** Runs statements one after the other, whatever becomes of them. */
async function useFor(milliseconds: number, pool: pg.Pool): Promise<void> {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    await pool.query("SELECT 1").catch(() => {});
    await wait(5);
  }
}
