/*
 * A server on Bun or Node with several threads on one port and one limit for all callers together.
 * THREADS and LIMIT say how many; it prints the port.
 */
import { createServer } from "node:http";
import process from "node:process";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

import { gcra, limiter } from "../../../../mod.ts";
import { attachSharedStore, sharedStore } from "../../../../stores/shared/shared_store.ts";

interface BunServer {
  serve(options: {
    port: number;
    hostname: string;
    reusePort: boolean;
    fetch: () => Response;
  }): { readonly port: number };
}

const { Bun } = globalThis as { Bun?: BunServer };
const hostname = "127.0.0.1";

if (isMainThread) {
  const { handle } = sharedStore({ capacity: 1_000, maxBytes: 0 });
  let port = 0;
  for (let left = Number(process.env["THREADS"]); left > 0; left--) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { handle, port } });
    port = await new Promise<number>((resolve) => worker.once("message", resolve));
  }
  console.log(`port ${port}`);
} else {
  const { handle, port } = workerData;
  const api = limiter(
    gcra({
      limit: Number(process.env["LIMIT"]),
      period: "1d",
      burst: Number(process.env["LIMIT"]),
    }),
    {
      store: attachSharedStore(handle),
      prefix: "port",
      clock: () => 1_790_000_000_000,
    },
  );
  const answer = () => api.consume("all").allowed ? 200 : 429;
  if (Bun !== undefined) {
    const fetch = () => new Response(null, { status: answer() });
    parentPort!.postMessage(Bun.serve({ port, hostname, reusePort: true, fetch }).port);
  } else {
    const server = createServer((_request, response) => {
      response.statusCode = answer();
      response.end();
    });
    server.listen({ port, host: hostname, reusePort: true }, () => {
      parentPort!.postMessage((server.address() as { port: number }).port);
    });
  }
}
