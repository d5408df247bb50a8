/*
 * One limit across the worker threads of a Node server (24 or later): each thread listens on the
 * same port, and all of them share one store.
 *
 *   node examples/node_threads.ts        PORT=8080 THREADS=4
 *
 * `node:cluster` would start processes. Those share no memory: see cluster.ts.
 */

import { createServer } from "node:http";
import { availableParallelism } from "node:os";
import process from "node:process";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

import { gcra, limiter } from "../mod.ts";
import { limitHandler } from "../adapters/frameworks/node.ts";
import { attachSharedStore, sharedStore } from "../stores/shared/shared_store.ts";

const port = Number(process.env["PORT"] ?? 8080);
const threads = Number(process.env["THREADS"] ?? availableParallelism());

if (isMainThread) {
  const store = sharedStore({ capacity: 100_000 });
  let ready = 0;
  const start = () => {
    const worker = new Worker(new URL(import.meta.url), { workerData: store.handle });
    worker.once("message", () => {
      if (++ready === threads) {
        console.log(`Listening on http://localhost:${port}/ with ${threads} threads`);
      }
    });
    // Another worker replaces a worker that died. The limits keep their use.
    worker.once("error", (error) => console.error("A thread died:", error));
    worker.once("exit", () => setTimeout(start, 1_000));
  };
  for (let thread = 0; thread < threads; thread++) start();
} else {
  const store = attachSharedStore(workerData);
  const api = limiter(gcra({ limit: 30, period: "1h", burst: 30 }), { store, prefix: "hello" });
  const limited = limitHandler({ limiter: api });
  const server = createServer(limited((_request, response) => void response.end("Hello!\n")));
  server.listen({ port, reusePort: true }, () => parentPort?.postMessage("ready"));
}
