/*
 * A server on Node 24 with as many threads as cores on one port, and one limit for all of them:
 *
 *   node examples/server_node.ts
 *
 * PORT is its port; THREADS how many threads; LIMIT the requests a minute of each address.
 * Processes of node:cluster share no memory: they need Redis.
 */
import { createServer } from "node:http";
import { availableParallelism } from "node:os";
import process from "node:process";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

import { gcra, limiter } from "tidegate";
import { attachSharedStore, sharedStore } from "tidegate/shared";

const LIMIT = Number(process.env.LIMIT ?? "30");

if (isMainThread) {
  const store = sharedStore({ capacity: 100_000, maxBytes: 0 });
  let port = Number(process.env.PORT ?? "8080");
  for (let left = Number(process.env.THREADS ?? availableParallelism()); left > 0; left--) {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { handle: store.handle, port },
    });
    // The first one may choose a free port, for all of them.
    port = await new Promise<number>((resolve) => worker.once("message", resolve));
  }
  console.log(`Listening on http://127.0.0.1:${port}/`);
} else {
  const store = attachSharedStore(workerData.handle);
  const api = limiter(gcra({ limit: LIMIT, period: "1m" }), { store, prefix: "hello" });
  const server = createServer((request, response) => {
    const { allowed, remaining } = api.consume(request.socket.remoteAddress ?? "unknown");
    response.statusCode = allowed ? 200 : 429;
    response.end(`${remaining} more at once.\n`);
  });
  server.listen({ port: workerData.port, host: "127.0.0.1", reusePort: true }, () => {
    parentPort?.postMessage((server.address() as { port: number }).port);
  });
}
