/*
 * A server with one limit for each client address:
 *
 *   bun examples/server.ts        and then, more than five times:
 *   curl -i localhost:8080
 *
 * PORT is its port; Ctrl-C ends it.
 */
import process from "node:process";

import { gcra, limiter } from "tidegate";
import { rateLimit } from "tidegate/http";

const limited = rateLimit({
  limiter: limiter(gcra({ name: "hello", limit: 30, period: "1m", burst: 5 })),
});

const server = Bun.serve({
  port: portOf(process.env.PORT ?? "8080"),
  fetch: limited((_request, _server, decision) => {
    return new Response(`Hello! ${decision?.remaining} more at once.\n`);
  }),
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.exit(0));
}

console.log(`Listening on ${server.url}: 30 requests a minute for each address, 5 at once.`);

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  console.error(`Cannot listen as PORT must be a number from 0 to 65535: it is "${text}"`);
  process.exit(1);
}
