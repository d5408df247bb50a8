/*
 * The servers of the service's bench, on 2 threads each:
 *
 *   bun bench/serve_server.ts bare       parses the body, answers a constant decision
 *   bun bench/serve_server.ts tidegate   the decision service on the shared store
 *
 * Each prints its port, and ends with its parent's input.
 */
import process from "node:process";
import { Worker } from "node:worker_threads";

import { objectSource } from "../adapters/rules/rules.ts";
import { serve } from "../adapters/service/service.ts";

const THREADS = 2;

async function tidegate(): Promise<number> {
  const rules = objectSource({
    domain: "shop",
    rules: [{ key: "user", limits: [{ limit: 1_000_000, period: "1h", burst: 1_000_000 }] }],
  });
  return (await serve({ rules, port: 0, threads: THREADS, capacity: 200_000 })).port;
}

async function bare(): Promise<number> {
  const first = await bareThread(0);
  for (let thread = 1; thread < THREADS; thread++) await bareThread(first);
  return first;
}

function bareThread(port: number): Promise<number> {
  const worker = new Worker(new URL("./serve_bare.ts", import.meta.url), { workerData: port });
  return new Promise((resolve) => worker.on("message", resolve));
}

const port = process.argv[2] === "bare" ? await bare() : await tidegate();
console.log(port);
process.stdin.on("close", () => process.exit());
process.stdin.resume();
