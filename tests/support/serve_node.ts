import { createServer, type RequestListener } from "node:http";
import { connect, constants, createServer as createHttp2Server } from "node:http2";
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

/**
 * Serves a listener over HTTP/2, behind a proxy that speaks HTTP/1.1 with clients. It brings each
 * request to a stream of its own, and each end of one side to the other.
 */
export async function serveHttp2(listener: RequestListener): Promise<TestServer> {
  const server = createHttp2Server(listener as never);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on("error", () => {});
  const proxy = await serveNode((request, response) => {
    const { method = "GET", url = "/" } = request;
    const stream = session.request({ ":method": method, ":path": url, ":authority": "localhost" });
    response.on("close", () => stream.close(constants.NGHTTP2_CANCEL));
    stream.on("error", () => response.destroy());
    stream.on("response", ({ ":status": status = 500, ...fields }) => {
      for (const [name, value] of Object.entries(fields)) response.setHeader(name, value!);
      response.writeHead(status);
      stream.pipe(response);
    });
    request.pipe(stream);
  });
  return {
    port: proxy.port,
    async close() {
      await proxy.close();
      session.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
