import type { IncomingMessage, ServerResponse } from "node:http";

import { rateLimit } from "../../adapters/node.ts";
import { describeAdapter } from "../support/adapter_behaviour.ts";
import { serveNode } from "../support/serve_node.ts";

describeAdapter("tidegate/node", {
  start(options, flow) {
    function handle(request: IncomingMessage, response: ServerResponse, left?: number) {
      switch (request.url) {
        case "/json":
          response.setHeader("Content-Type", "application/json");
          return void response.end('{"a":1}');
        case "/image":
          response.setHeader("Content-Type", "image/png");
          return void response.end(new Uint8Array(4));
        case "/empty":
          return void response.writeHead(204).end();
        case "/missing":
          return void response.writeHead(404, { "X-Other": "1" }).end("nothing here");
        case "/left":
          return void response.end(String(left));
        case "/bad":
          return void response.writeHead(400).end("bad");
        case "/throw":
          throw new Error("boom");
        case "/stream":
          response.write("one");
          return void flow().then(() => response.end("two"));
        default:
          return void response.end("hello");
      }
    }
    const listener = options === undefined
      ? handle
      : rateLimit(options)((request, response, decision) =>
        handle(request, response, decision?.remaining)
      );
    // node:http leaves what a listener throws to the process.
    return serveNode((request, response) => {
      try {
        listener(request, response);
      } catch {
        response.writeHead(500).end("it failed");
      }
    });
  },
});
