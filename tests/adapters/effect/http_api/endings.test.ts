import { Effect, Layer, Stream } from "effect";
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http";
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api";

import {
  layerRateLimit,
  layerStore,
  RateLimit,
  RateLimitDecision,
  type RateLimitOptions,
} from "../../../../adapters/effect/effect.ts";
import type { Limiter } from "../../../../mod.ts";
import { describeEndings } from "../../../support/adapter_behaviour.ts";
import type { AnyOptions, AppHooks } from "../../../support/adapter_subject.ts";
import { serveFetch, type TestServer } from "../../../support/serve_fetch.ts";
import { twoParts } from "../../../support/two_parts.ts";

/** A handler, which answers with a response of its own. */
type Answer = (
  request: HttpServerRequest.HttpServerRequest,
  hooks: AppHooks,
) => Effect.Effect<HttpServerResponse.HttpServerResponse>;

const { text } = HttpServerResponse;

const ANSWERS: Readonly<Record<string, Answer>> = {
  "/json": () => Effect.succeed(HttpServerResponse.jsonUnsafe({ a: 1 })),
  "/image": () =>
    Effect.succeed(HttpServerResponse.uint8Array(new Uint8Array(4), { contentType: "image/png" })),
  "/empty": () => Effect.succeed(HttpServerResponse.empty({ status: 204 })),
  "/missing": () => Effect.succeed(text("nothing here", { status: 404 })),
  "/left": () => Effect.map(RateLimitDecision, (decision) => text(String(decision?.remaining))),
  "/bad": () => Effect.succeed(text("bad", { status: 400 })),
  "/throw": () => Effect.die(new Error("boom")),
  "/stream": (_request, { flow }) => {
    const evaluate = () => twoParts(flow);
    const body = Stream.fromReadableStream({ evaluate, onError: (cause) => cause });
    return Effect.succeed(HttpServerResponse.stream(body, { contentType: "text/plain" }));
  },
  "/slow": ({ source }, { slow }) =>
    Effect.callback((resume) => {
      slow(
        (gone) => (source as Request).signal.addEventListener("abort", gone),
        (fails) => resume(fails ? Effect.die(new Error("gone")) : Effect.succeed(text("late"))),
      );
    }),
};

const limited = HttpApiGroup.make("limited")
  .add(HttpApiEndpoint.get("root", "/"))
  .add(HttpApiEndpoint.get("name", "/:name"))
  .add(HttpApiEndpoint.get("in", "/in/:name"))
  .middleware(RateLimit);
const open = HttpApiGroup.make("open").add(HttpApiEndpoint.get("out", "/out/:name"));
const Api = HttpApi.make("api").add(limited).add(open);

const NO_HOOKS: AppHooks = { flow: () => Promise.resolve(), slow() {} };

/** Serves the API. The stores of its limits are those of the limiters that the options have. */
async function serve(options: AnyOptions, hooks = NO_HOOKS): Promise<TestServer> {
  const { limiter, limits = [{ limiter }], ...others } = options as unknown as {
    limiter: Limiter;
    limits?: readonly { limiter: Limiter }[];
  };
  const entries = limits.map(({ limiter: { prefix, algorithm } }) => ({
    limit: { prefix, algorithm },
  }));
  const answer = (request: HttpServerRequest.HttpServerRequest) => {
    const path = request.url.replace(/^\/(in|out)\//, "/");
    return ANSWERS[path]?.(request, hooks) ?? Effect.succeed(text("hello"));
  };
  const handle = ({ request }: { request: HttpServerRequest.HttpServerRequest }) => answer(request);
  const replacing = HttpRouter.middleware(
    (app) =>
      Effect.flatMap(
        HttpServerRequest.HttpServerRequest,
        ({ url }) => url === "/replaced" ? Effect.as(app, text("replaced", { status: 418 })) : app,
      ),
    {
      global: true,
    },
  );
  const server = HttpApiBuilder.layer(Api).pipe(
    Layer.provide(HttpApiBuilder.group(
      Api,
      "limited",
      (group) => group.handleRaw("root", handle).handleRaw("name", handle).handleRaw("in", handle),
    )),
    Layer.provide(HttpApiBuilder.group(Api, "open", (group) => group.handleRaw("out", handle))),
    Layer.provide(layerRateLimit({ ...others, limits: entries } as RateLimitOptions)),
    Layer.provide(layerStore(limits[0]!.limiter.store)),
    Layer.provide(replacing),
    Layer.provide(HttpServer.layerServices),
  );
  const web = HttpRouter.toWebHandler(server, { disableLogger: true });
  const { port, close } = await serveFetch((request: Request) => web.handler(request));
  return { port, close: () => close().then(web.dispose) };
}

describeEndings("tidegate/effect", {
  makers: [layerRateLimit],
  options: { address: () => "127.0.0.1" },
  releasesEarly: true,
  start: ([options], hooks) => serve(options!, hooks),
  startScoped: (options) => serve(options),
});
