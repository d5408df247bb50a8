import {
  type Answer,
  type Awaitable,
  type FetchHandler,
  limitHandler,
} from "../../../../adapters/http/http.ts";
import {
  type AdapterSubject,
  describeAdapter,
  describeGate,
} from "../../../support/adapter_behaviour.ts";
import { runtime } from "../../../support/runtime.ts";
import { serveFetch } from "../../../support/serve_fetch.ts";
import { echo, slowResponse, upgrade } from "../../../support/fetch_routes.ts";
import { twoParts } from "../../../support/two_parts.ts";

/** The second argument that @hono/node-server passes on Node. */
interface NodeInfo {
  readonly incoming: { readonly socket: { readonly remoteAddress?: string } };
}

const error = () => new Response("it failed", { status: 500 });

const subject: AdapterSubject = {
  options: runtime() === "node"
    ? {
      address: (_: unknown, info: NodeInfo) => info.incoming.socket.remoteAddress,
    }
    : {},
  makers: [limitHandler],
  losesFields: true,
  upgrades: runtime() !== "node",
  start(limits, { flow, slow }) {
    function handler(request: Request, info: unknown, left?: number): Awaitable<Answer> {
      switch (new URL(request.url).pathname) {
        case "/slow":
          return slowResponse(request, slow);
        case "/socket":
          return upgrade(request, info);
        case "/json":
          return Response.json({ a: 1 });
        case "/image":
          return new Response(new Uint8Array(4), { headers: { "content-type": "image/png" } });
        case "/empty":
          return new Response(null, { status: 204 });
        case "/missing":
          return Response.redirect("http://127.0.0.1/");
        case "/left":
          return new Response(String(left));
        case "/bad":
          return new Response("bad", { status: 400 });
        case "/throw":
          throw new Error("boom");
        case "/stream":
          return new Response(twoParts(flow), { headers: { "content-type": "text/plain" } });
        default:
          return new Response("hello");
      }
    }
    const fetch = limits.reduceRight<FetchHandler<unknown, Answer>>(
      (inner, options) => limitHandler(options)(inner),
      (request, info, decision) => handler(request, info, decision?.remaining),
    );
    return serveFetch(async (request, info) => {
      const response = await fetch(request, info, undefined);
      const isReplaced = new URL(request.url).pathname === "/replaced";
      return isReplaced ? new Response("replaced", { status: 418 }) : response;
    }, { error, ...echo });
  },
  startScoped(options) {
    const answer = ({ url }: Request) => {
      if (url.endsWith("/throw")) throw new Error("boom");
      return new Response("hello");
    };
    const limited = limitHandler(options)(answer);
    return serveFetch(
      (request, info) => request.url.includes("/in/") ? limited(request, info) : answer(request),
      { error },
    );
  },
};

describeAdapter("tidegate/http", subject);
describeGate("the gate behind tidegate/http", subject);
