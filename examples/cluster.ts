/*
 * One limit for all workers of node:cluster: each worker opens the same SQLite file, and nothing needs
 * to be installed. The limit survives a restart, too.
 *
 *   PORT=8080 LIMITS=limits.db node examples/cluster.ts
 */
import cluster from "node:cluster";
import { createServer } from "node:http";
import process from "node:process";
import { gcra, limiter } from "../mod.ts";
import { limitHandler } from "../adapters/frameworks/node.ts";
import { sqliteStore } from "../stores/sqlite/sqlite_store.ts";

const WORKERS = 4;
const { PORT = "8080", LIMITS = "limits.db" } = process.env;

if (cluster.isPrimary) {
  let listening = 0;
  cluster.on("listening", (_worker, { port }) => {
    if (++listening === WORKERS) console.log(`Listening on http://127.0.0.1:${port}/`);
  });
  for (let worker = 0; worker < WORKERS; worker++) cluster.fork();
  process.on("SIGTERM", () => cluster.disconnect());
} else {
  const store = sqliteStore(LIMITS);
  const api = limiter(gcra({ limit: 60, period: "1h", burst: 60 }), { store, prefix: "api" });
  const handler = limitHandler({ limiter: api })((_request, response) => {
    response.end(`hello from worker ${cluster.worker!.id}\n`);
  });
  createServer(handler).listen(Number(PORT), "127.0.0.1");
  process.on("SIGTERM", () => cluster.worker!.disconnect());
}
