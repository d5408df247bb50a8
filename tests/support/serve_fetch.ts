import { serve as serveOnNode } from "@hono/node-server";
import type { Server } from "node:http";

/** A server of a test. */
export interface TestServer {
  readonly port: number;
  close(): Promise<void>;
}

// deno-lint-ignore no-explicit-any
type Fetch = (request: Request, info: any) => any;

interface DenoServer {
  readonly addr: { readonly port: number };
  readonly finished: Promise<void>;
}

/**
 * Serves a handler in the style of fetch on a free port, by the runtime's own server; on Node by
 * that of Hono.
 *
 * @param more Options for Bun.serve, such as its websocket handlers.
 */
export async function serveFetch(fetch: Fetch, more: object = {}): Promise<TestServer> {
  const { Bun, Deno } = globalThis as {
    Bun?: { serve(options: object): { port: number; stop(active: boolean): Promise<void> } };
    Deno?: { serve(options: object, fetch: Fetch): DenoServer };
  };
  if (Bun !== undefined) {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      development: false,
      fetch,
      ...more,
    });
    return { port: server.port, close: () => server.stop(true) };
  }
  if (Deno !== undefined) {
    const controller = new AbortController();
    const { signal } = controller;
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", signal, onListen() {} }, fetch);
    // Unlike `shutdown`, an abort does not wait for connections that are kept alive.
    const close = () => (controller.abort(), server.finished);
    return { port: server.addr.port, close };
  }
  return await new Promise((resolve) => {
    const server = serveOnNode({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => {
      resolve({
        port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            (server as Server).closeAllConnections();
          }),
      });
    });
  });
}
