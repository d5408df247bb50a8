/*
 * Messages of a WebSocket under a limit. A client that sends too many receives a message, and is cut
 * off after three refusals. The limit is on the address, so a new connection does not begin a new
 * limit.
 *
 *   bun examples/websocket_messages.ts
 */
import { gcra, limiter } from "tidegate";
import { clientKey } from "tidegate/http";

const messages = limiter(gcra({ limit: 60, period: "1m", burst: 3 }));
const refusals = limiter(gcra({ limit: 3, period: "1m", burst: 3 }));

// Behind a proxy: clientKey({ trustedProxies: [...] }).
const clientOf = clientKey<Bun.Server<{ client: string }>>();

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request, self) {
    const client = clientOf(request, self) ?? "unknown";
    return self.upgrade(request, { data: { client } })
      ? undefined
      : new Response("A WebSocket is needed", { status: 426 });
  },
  websocket: {
    data: {} as { client: string },
    message(socket, text) {
      const { allowed, retryAfter } = messages.consume(socket.data.client);
      if (allowed) socket.send(`echo ${text}`);
      else if (refusals.consume(socket.data.client).allowed) socket.send(`wait ${retryAfter} ms`);
      else socket.close(1008, "too many messages");
    },
  },
});

const client = new WebSocket(`ws://127.0.0.1:${server.port}`);
client.addEventListener("open", () => {
  for (let number = 1; number <= 7; number++) client.send(String(number));
});
client.addEventListener("message", ({ data }) => console.log(data));
client.addEventListener("close", async ({ code, reason }) => {
  console.log(`closed: ${code} ${reason}`);
  await server.stop(true);
});
