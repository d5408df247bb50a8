import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

import type { TestServer } from "./serve_fetch.ts";

/** Serves a listener of node:http on a free port. */
export function serveNode(listener: RequestListener): Promise<TestServer> {
  const server = createServer(listener);
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      resolve({
        port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}
