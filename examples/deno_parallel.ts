/*
 * One limit across the threads of `deno serve --parallel`. Nobody hands them a store. So they ask for
 * it on a channel, one after the other, under a lock. The first thread gets no answer, and makes the
 * store.
 *
 *   DENO_JOBS=4 deno serve -A --parallel --port 8080 examples/deno_parallel.ts
 */

// This is not the global BroadcastChannel, which cannot be unref'ed and keeps the server from ending.
import { BroadcastChannel } from "node:worker_threads";

import { limitHandler } from "../adapters/http/http.ts";
import { gcra, limiter } from "../mod.ts";
import {
  attachSharedStore,
  type SharedStore,
  sharedStore,
  type SharedStoreHandle,
} from "../stores/shared/shared_store.ts";

/** Deno's types of `navigator` lack its locks. */
const { locks } = navigator as unknown as {
  readonly locks: {
    request<Result>(name: string, held: () => Promise<Result>): Promise<Result>;
  };
};

/** Milliseconds that an answer may take. Threads of one process answer in one or two. */
const PATIENCE = 500;

/** The store that all threads of this process share. */
function meet(name: string): Promise<SharedStore> {
  return locks.request(name, async () => {
    const channel = new BroadcastChannel(name);
    const handle = await asked(channel);
    const store = handle === undefined
      ? sharedStore({ capacity: 100_000 })
      : attachSharedStore(handle);
    channel.onmessage = (event: { readonly data: unknown }) => {
      if (event.data === "which store?") channel.postMessage(store.handle);
    };
    channel.unref();
    return store;
  });
}

/** The handle from another thread; `undefined` if no thread answers. */
function asked(channel: BroadcastChannel): Promise<SharedStoreHandle | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), PATIENCE);
    channel.onmessage = ({ data }: { readonly data: SharedStoreHandle | string }) => {
      if (typeof data === "string") return;
      clearTimeout(timer);
      resolve(data);
    };
    channel.postMessage("which store?");
  });
}

const store = await meet("tidegate-example");
const api = limiter(gcra({ limit: 30, period: "1h", burst: 30 }), { store, prefix: "hello" });
const handler = limitHandler({ limiter: api })(() => new Response("Hello!\n"));

export default {
  fetch(
    request: Request,
    info: { remoteAddr: { hostname: string } },
  ): Response | Promise<Response> {
    return handler(request, info);
  },
};
