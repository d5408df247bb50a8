/*
 * A polite client of somebody else's API. It keeps to the limit that it knows, pauses when the
 * server's `RateLimit` field says that nothing is left, and waits out a 429.
 *
 *   bun examples/polite_client.ts
 */
import { gcra, limiter } from "tidegate";
import { limitedFetch } from "tidegate/fetch";
import { limitHandler } from "tidegate/http";

// Somebody's API: two calls a second.
const theirs = limiter(gcra({ limit: 2, period: "1s", burst: 2 }));
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: limitHandler({ limiter: theirs, key: () => "everybody" })(() => new Response("hello")),
});

// We believe that it takes four.
const politely = limitedFetch({
  limiter: limiter(gcra({ limit: 4, period: "1s", burst: 4 })),
  onRetry: ({ status, attempt }) => console.log(`${status}: waiting, attempt ${attempt}`),
});
for (let call = 1; call <= 4; call++) {
  const response = await politely(server.url);
  const left = response.headers.get("ratelimit");
  console.log(`call ${call}: ${response.status} ${await response.text()}, RateLimit: ${left}`);
}
await server.stop(true);
