// A thread of the bare server: what any service must do at least, and nothing else.
import { parentPort, workerData } from "node:worker_threads";

const headers = { "content-type": "application/json", "cache-control": "no-store" };
const decision =
  '"limit":1000000,"remaining":999999,"retryAfter":0,"nextAfter":4,"resetAfter":4,"delay":0';
const one =
  `{"allowed":true,${decision},"rules":[{"rule":"user","shadow":false,"allowed":true,${decision}}]}`;

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: workerData,
  reusePort: true,
  async fetch(request) {
    const body = await request.json();
    const answer = Array.isArray(body) ? `[${body.map(() => one).join(",")}]` : one;
    return new Response(answer, { headers });
  },
});
parentPort!.postMessage(server.port);
