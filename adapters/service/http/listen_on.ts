/*
 * Starts a server and keeps track of its sockets, because a server that closes does not end
 * connections that have not completed a handshake.
 */

import type { AddressInfo, Server, Socket } from "node:net";

/** Where and how to listen. */
export interface ListenOptions {
  readonly hostname: string;
  /** The port; 0 for a free one. */
  readonly port: number;
  /** Whether other threads and processes listen on the same port, and share its connections. */
  readonly reusePort: boolean;
  /** The most connections at once; Bun's HTTP server has no such limit. */
  readonly maxConnections: number;
}

/** A server that listens. */
export interface Listener {
  readonly port: number;
  /**
   * Ends all connections, including connections before their handshake, which the server does not
   * know.
   */
  endAll(): void;
}

/** Starts a server; rejects if it cannot listen. */
export function listenOn(
  server: Server,
  { hostname, port, reusePort, maxConnections }: ListenOptions,
): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.maxConnections = maxConnections;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen({ host: hostname, port, ...(reusePort ? { reusePort } : {}) }, () => {
      resolve({
        port: (server.address() as AddressInfo).port,
        endAll() {
          for (const socket of sockets) socket.destroy();
        },
      });
    });
  });
}
