import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  connect,
  constants,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";

import { limitHandler, type NodeHandler } from "../../../adapters/frameworks/node.ts";
import { leakyQueue, limiter } from "../../../mod.ts";
import {
  type AdapterSubject,
  describeAdapter,
  describeEndings,
  describeGate,
} from "../../support/adapter_behaviour.ts";
import { oneAtOnce } from "../../support/adapter_permits.ts";
import { runtime } from "../../support/runtime.ts";
import { serveHttp2, serveNode } from "../../support/serve_node.ts";

const subjectOn = (serve: typeof serveNode): AdapterSubject => ({
  makers: [limitHandler],
  start(limits, { flow, slow }) {
    function handle(request: IncomingMessage, response: ServerResponse, left?: number) {
      switch (request.url) {
        case "/slow":
          // A response of HTTP/2 throws while its stream is being aborted, and not afterwards.
          return slow((gone) => request.once("aborted", () => setImmediate(gone)), (fails) => {
            response.statusCode = fails ? 500 : 200;
            response.end("late");
          });
        case "/json":
          response.setHeader("Content-Type", "application/json");
          return void response.end('{"a":1}');
        case "/image":
          response.setHeader("Content-Type", "image/png");
          return void response.end(new Uint8Array(4));
        case "/empty":
          return void response.writeHead(204).end();
        case "/replaced":
          return;
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
    const listener = limits.reduceRight<NodeHandler>(
      (inner, options) => limitHandler(quiet(options))(inner),
      (request, response, decision) => handle(request, response, decision?.remaining),
    );
    return serve((request, response) => {
      if (request.url === "/replaced") {
        setTimeout(() => response.writeHead(418).end("replaced"), 5);
      }
      // node:http leaves what a listener throws to the process.
      try {
        listener(request, response, undefined);
      } catch {
        response.writeHead(500).end("it failed");
      }
    });
  },
  startScoped(options) {
    const answer = ({ url = "" }: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(url.endsWith("/throw") ? 500 : 200).end("hello");
    const limited = limitHandler(options)(answer);
    return serve((request, response) =>
      (request.url!.startsWith("/in/") ? limited : answer)(request, response)
    );
  },
  startAnswering(options, { answered, went }) {
    const given = { ...options, onError: () => went("error") };
    const limited = limitHandler(given)(() => went("handler"));
    return serve((request, response) => {
      limited(request, response);
      response.statusCode = 503;
      response.end("too late", answered);
    });
  },
});

describeAdapter("tidegate/node", subjectOn(serveNode));
describeGate("the gate behind tidegate/node", subjectOn(serveNode));
// The node:http2 of Deno 2.9 reports no end of the answer to a HEAD, or to some clients that hang up.
if (runtime() !== "deno") {
  describeEndings("tidegate/node on HTTP/2", subjectOn(serveHttp2));
}

/** The same options, where an error is not printed. */
function quiet<Options>(options: Options): Options {
  const isObject = typeof options === "object" && options !== null;
  return isObject ? { ...options, onError: () => {} } : options;
}

/** Sends a request to a server of HTTP/2, and takes it back once it has arrived, until it is over. */
async function cancelled(
  listener: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
  arrived: Promise<void>,
  over: Promise<void>,
): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  try {
    session.on("error", () => {});
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => {});
    stream.end();
    await arrived;
    stream.close(constants.NGHTTP2_CANCEL);
    await over;
    await new Promise((resolve) => setTimeout(resolve, 20));
  } finally {
    session.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A promise, and the function that fulfils it. */
function signal() {
  let send = () => {};
  return { sent: new Promise<void>((resolve) => send = resolve), send: () => send() };
}

describe("tidegate/node on HTTP/2", () => {
  test("takes no place for a stream that was closed before its key was known", async () => {
    const [arrived, left] = [signal(), signal()];
    const queue = limiter(leakyQueue({ limit: 1, period: "1h", queue: 1 }));
    queue.consume("one");
    const places: string[] = [];
    const limited = limitHandler<Http2ServerRequest, Http2ServerResponse>({
      limiter: queue,
      key: (_request, response) => {
        response.once("close", left.send);
        arrived.send();
        return left.sent.then(() => "one");
      },
      onError: () => places.push("error"),
    })(() => void places.push("handler"));
    await cancelled(limited, arrived.sent, left.sent);
    assert.equal(queue.peek("one", 0).remaining, 1);
    assert.deepEqual(places, []);
  });

  // Deno 2.9 does not report that a client took its request back.
  if (runtime() !== "deno") {
    test(
      "releases a permit before the handler hears that its client has gone, and may throw",
      async () => {
        const [arrived, left] = [signal(), signal()];
        const { jobs, isFree } = oneAtOnce();
        let wasFree = false;
        const limited = limitHandler<Http2ServerRequest, Http2ServerResponse>({
          limiter: jobs,
          key: () => "one",
        })((request) => {
          request.once("aborted", () => {
            wasFree = isFree();
            left.send();
          });
          arrived.send();
        });
        await cancelled(limited, arrived.sent, left.sent);
        assert.equal(wasFree, true);
      },
    );
  }
});
