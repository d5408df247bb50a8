/*
 * One limit across the threads of `deno serve --parallel`. Nobody hands them a store: the first one
 * to take a lock makes it, and the others ask for its handle on a channel.
 *
 *   DENO_JOBS=4 deno serve -A --parallel --port 8080 examples/deno_parallel.ts
 */

import { rateLimit } from "../adapters/http.ts";
import { gcra, limiter } from "../mod.ts";
import {
  attachSharedStore,
  type SharedStore,
  sharedStore,
  type SharedStoreHandle,
} from "../stores/shared.ts";

/** Deno's types of `navigator` lack its locks. */
const { locks } = navigator as unknown as {
  readonly locks: {
    request<Result>(
      name: string,
      options: { readonly ifAvailable: boolean },
      held: (lock: object | null) => Result,
    ): Promise<Awaited<Result>>;
  };
};

/** The store that all threads of this process share. */
function meet(name: string): Promise<SharedStore> {
  const channel = new BroadcastChannel(name);
  return new Promise((resolve) => {
    // The lock is kept for as long as the thread lives, so there is one maker.
    void locks.request(name, { ifAvailable: true }, (lock) => {
      if (lock === null) {
        const asking = setInterval(() => channel.postMessage("which store?"), 20);
        channel.onmessage = ({ data }: MessageEvent<SharedStoreHandle | string>) => {
          if (typeof data === "string") return;
          clearInterval(asking);
          channel.close();
          resolve(attachSharedStore(data));
        };
        return;
      }
      const store = sharedStore({ capacity: 100_000 });
      channel.onmessage = ({ data }) => {
        if (typeof data === "string") channel.postMessage(store.handle);
      };
      resolve(store);
      return new Promise(() => {});
    });
  });
}

const store = await meet("tidegate-example");
const api = limiter(gcra({ limit: 30, period: "1h" }), { store, prefix: "hello" });
const handler = rateLimit({ limiter: api })(() => new Response("Hello!\n"));

export default {
  fetch(
    request: Request,
    info: { remoteAddr: { hostname: string } },
  ): Response | Promise<Response> {
    return handler(request, info);
  },
};
