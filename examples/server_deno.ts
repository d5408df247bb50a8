/*
 * A server on Deno with as many threads as cores on one port, and one limit for all of them:
 *
 *   deno serve --parallel examples/server_deno.ts
 *
 * The threads know nothing of each other. The first one to get the lock makes the store; the others
 * ask for its handle over a channel.
 */
import { gcra, type Limiter, limiter } from "tidegate";
import { attachSharedStore, sharedStore, type SharedStoreHandle } from "tidegate/shared";

const LIMIT = 30;
/** Deno has it; its types do not. */
const { locks } = navigator as unknown as {
  locks: { request<Value>(name: string, held: () => Promise<Value>): Promise<Value> };
};
const channel = new BroadcastChannel("tidegate store");
let handle: SharedStoreHandle | undefined;

channel.onmessage = ({ data }) => {
  if (data === "who has it?") {
    if (handle !== undefined) channel.postMessage(handle);
  } else handle ??= data;
};

/** The handle of the store that some thread has made; `undefined` if none answers. */
async function ask(): Promise<SharedStoreHandle | undefined> {
  for (let tries = 0; tries < 20 && handle === undefined; tries++) {
    channel.postMessage("who has it?");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return handle;
}

/** The limiter on the one store; made by the first request, when all threads have come up. */
const ready: Promise<Limiter> = locks.request("tidegate store", async () => {
  const found = await ask();
  const store = found === undefined
    ? sharedStore({ capacity: 100_000, maxBytes: 0 })
    : attachSharedStore(found);
  handle ??= store.handle;
  return limiter(gcra({ limit: LIMIT, period: "1m" }), { store, prefix: "hello" });
});

interface Server {
  fetch(request: Request, info: { remoteAddr: { hostname: string } }): Promise<Response>;
}

const server: Server = {
  async fetch(_request, { remoteAddr }) {
    const { allowed, remaining } = (await ready).consume(remoteAddr.hostname);
    return new Response(`${remaining} more at once.\n`, { status: allowed ? 200 : 429 });
  },
};

export default server;
