/*
 * A server with one limit for each client address, exact over as many threads as there are cores:
 *
 *   bun examples/server.ts        and then, more than five times:
 *   curl -i localhost:8080
 *
 * PORT is its port, and THREADS the number of threads. Ctrl-C ends it. Under `bun --hot` a changed
 * file takes effect when it is saved, and the limits keep their use.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

import { gcra, limiter } from "tidegate";
import { limitHandler } from "tidegate/http";
import { attachSharedStore, keptSharedStore, type SharedStore } from "tidegate/shared";

if (isMainThread) {
  // The server and the threads that `bun --hot` has loaded before end first.
  const loaded = globalThis as { endHello?: () => Promise<unknown> };
  await loaded.endHello?.();
  const store = keptSharedStore("hello", { capacity: 100_000 });
  const server = serve(store, numberOf("PORT", "8080", 65_535));
  const workers = new Set<Worker>();
  loaded.endHello = () => {
    const ending = [...workers];
    workers.clear();
    return Promise.all([server.stop(), ...ending.map((worker) => worker.terminate())]);
  };
  const threads = numberOf("THREADS", String(availableParallelism()), 1_000);
  const port = Number(server.port);
  await Promise.all(Array.from({ length: threads - 1 }, () => start(store, port, workers)));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => process.exit(0));
  }
  console.log(`Listening on ${server.url}: 30 requests a minute for each address, 5 at once.`);
} else {
  serve(attachSharedStore(workerData.handle), workerData.port);
  parentPort?.postMessage("ready");
}

function serve(store: SharedStore, port: number) {
  const policy = gcra({ name: "hello", limit: 30, period: "1m", burst: 5 });
  const limited = limitHandler({ limiter: limiter(policy, { store, prefix: "hello" }) });
  return Bun.serve({
    port,
    reusePort: true,
    fetch: limited((_request, _server, decision) => {
      return new Response(`Hello! ${decision?.remaining} more at once.\n`);
    }),
  });
}

/** Starts one more thread on the same port. Resolves once it serves. */
function start(store: SharedStore, port: number, workers: Set<Worker>): Promise<void> {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { handle: store.handle, port },
  });
  workers.add(worker);
  return new Promise((resolve) => {
    worker.once("message", () => resolve());
    worker.once("error", (error) => console.error("A thread died:", error));
    // Another worker replaces a worker that died. The limits keep their use.
    worker.once("exit", () => {
      if (!workers.delete(worker)) return;
      setTimeout(() => start(store, port, workers).then(resolve), 1_000);
    });
  });
}

function numberOf(variable: string, otherwise: string, most: number): number {
  const text = process.env[variable] ?? otherwise;
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= most) return number;
  console.error(`Cannot listen as ${variable} must be a number from 0 to ${most}: it is "${text}"`);
  process.exit(1);
}
