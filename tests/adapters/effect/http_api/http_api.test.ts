import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { Clock, Context, Effect, Layer, Logger, Schema } from "effect";
import { HttpRouter, HttpServer } from "effect/http";
import {
  HttpApi,
  HttpApiBuilder,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpApiTest,
} from "effect/http-api";
import { TestClock } from "effect/testing";

import {
  layerMemory,
  layerRateLimit,
  layerStore,
  limit,
  QuotaExceeded,
  RateLimit,
  RateLimitDecision,
  type RateLimiter,
  type RateLimitOptions,
} from "../../../../adapters/effect/effect.ts";
import {
  all,
  gcra,
  leakyQueue,
  memoryStore,
  slidingLog,
  StoreUnavailableError,
} from "../../../../mod.ts";
import type { Decision } from "../../../../mod.ts";
import { asyncMemoryStore } from "../../../support/async_memory_store.ts";
import { FAILURE, printedBy, WAYS_TO_FAIL } from "../../../support/failing_callbacks.ts";

const Failure = Schema.Struct({ why: Schema.String }).annotate({ httpApiStatus: 418 });

const users = HttpApiGroup.make("users")
  .add(HttpApiEndpoint.get("list", "/users", { success: Schema.String }))
  .add(HttpApiEndpoint.get("teapot", "/teapot", { success: Schema.String, error: Failure }))
  .middleware(RateLimit);
const open = HttpApiGroup.make("open")
  .add(HttpApiEndpoint.get("hello", "/hello", { success: Schema.String }));
const Api = HttpApi.make("api").add(users).add(open);

const handlers = Layer.mergeAll(
  HttpApiBuilder.group(Api, "users", (group) =>
    group
      .handle("list", () =>
        Effect.map(RateLimitDecision, (decision) => `${decision?.remaining} left`))
      .handle("teapot", () =>
        Effect.fail({ why: "I am a teapot" }))),
  HttpApiBuilder.group(
    Api,
    "open",
    (group) => group.handle("hello", () => Effect.succeed("hello")),
  ),
);

const api = limit("api", gcra({ limit: 2, period: "1m", name: "api" }));
const everybody = () => "everybody";

/** A fetch of the API under some options. */
function server(
  options: RateLimitOptions,
  limiter: Layer.Layer<RateLimiter> = layerMemory(),
  logged: unknown[] = [],
) {
  return serverOf(layerRateLimit(options), limiter, logged);
}

/** A fetch of the API under a layer of the middleware; what is logged goes into the list. */
function serverOf(
  middleware: Layer.Layer<RateLimit, never, RateLimiter>,
  limiter: Layer.Layer<RateLimiter> = layerMemory(),
  logged: unknown[] = [],
) {
  const logger = Logger.make(({ message }) => logged.push(message));
  const layer = HttpApiBuilder.layer(Api).pipe(
    Layer.provide(handlers),
    Layer.provide(middleware),
    Layer.provide(limiter),
    Layer.provide(HttpServer.layerServices),
    Layer.provideMerge(Logger.layer([logger])),
  );
  return HttpRouter.toWebHandler(layer, { disableLogger: true });
}

async function ask(
  { handler }: { handler: (request: Request) => Promise<Response> },
  path: string,
  headers: Record<string, string> = {},
) {
  const response = await handler(new Request(`http://localhost${path}`, { headers }));
  const limits = ["ratelimit-policy", "ratelimit", "retry-after", "cache-control"];
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    fields: limits.map((name) => response.headers.get(name)),
    body: await response.text(),
  };
}

describe("the middleware of HttpApi", () => {
  test("answers 200, 200, 429, to the letter", async () => {
    const web = server({ limit: api, key: everybody });
    const policy = '"api";q=2;w=60';
    assert.deepEqual(await ask(web, "/users"), {
      status: 200,
      type: "application/json",
      fields: [policy, '"api";r=1;t=30', null, null],
      body: '"1 left"',
    });
    assert.deepEqual((await ask(web, "/users")).fields[1], '"api";r=0;t=30');
    const { body, ...refused } = await ask(web, "/users");
    assert.deepEqual(refused, {
      status: 429,
      type: "application/problem+json",
      fields: [policy, '"api";r=0;t=30', "30", "no-store"],
    });
    assert.deepEqual(JSON.parse(body), {
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Quota Exceeded",
      status: 429,
      "violated-policies": ["api"],
    });
    await web.dispose();
  });

  test("leaves other groups, and errors of handlers, alone", async () => {
    const web = server({ limit: api, key: everybody });
    const { fields, status } = await ask(web, "/hello");
    assert.deepEqual([status, fields], [200, [null, null, null, null]]);
    const teapot = await ask(web, "/teapot");
    assert.deepEqual([teapot.status, JSON.parse(teapot.body)], [418, { why: "I am a teapot" }]);
    assert.equal(teapot.fields[1], '"api";r=1;t=30');
    await web.dispose();
  });

  test("names the policies of all that refused", async () => {
    const both = all(
      gcra({ limit: 1, period: "1s", name: "second" }),
      slidingLog({ limit: 9, period: "1h", name: "hour" }),
    );
    const web = server({ limit: limit("both", both), key: everybody });
    await ask(web, "/users");
    const { body } = await ask(web, "/users");
    assert.deepEqual(JSON.parse(body)["violated-policies"], ["second"]);
    await web.dispose();
  });

  test("runs effects among the options as parts of the request, and not of the server's start", async () => {
    const tenant = Context.Reference("tenant", { defaultValue: () => "nobody" });
    const tenants: string[] = [];
    const key = () => Effect.map(tenant, (name) => (tenants.push(name), name));
    const web = serverOf(
      Layer.provide(layerRateLimit({ limit: api, key }), Layer.succeed(tenant, "startup")),
    );
    const request = new Request("http://localhost/users");
    await web.handler(request, Context.make(tenant, "acme") as never);
    await web.dispose();
    assert.deepEqual(tenants, ["acme"]);
  });

  test("takes limit, key, cost and skip of the request and the route", async () => {
    class Plan extends Context.Service<Plan, { readonly cost: number }>()("tests/Plan") {}
    const middleware = layerRateLimit({
      limit: (_request, { endpoint }) => endpoint.identifier === "list" ? api : undefined,
      key: (request) => Effect.succeed(request.headers["x-api-key"] ?? "nobody"),
      cost: () => Plan.use(({ cost }) => Effect.succeed(cost)),
      skip: (request) => request.headers["x-free"] === "yes",
    });
    const web = serverOf(Layer.provide(middleware, Layer.succeed(Plan, { cost: 2 })));
    const status = async (path: string, headers?: Record<string, string>) =>
      (await ask(web, path, headers)).status;
    assert.equal(await status("/users", { "x-api-key": "a" }), 200);
    assert.equal(await status("/users", { "x-api-key": "a" }), 429);
    assert.equal(await status("/users", { "x-api-key": "b" }), 200);
    assert.equal(await status("/users", { "x-api-key": "a", "x-free": "yes" }), 200);
    assert.equal(await status("/teapot", { "x-api-key": "a" }), 418);
    await web.dispose();
  });

  test("gives back the units of failed requests where the options say so", async () => {
    const web = server({ limit: api, key: everybody, refund: "failed" });
    for (let i = 0; i < 5; i++) assert.equal((await ask(web, "/teapot")).status, 418);
    await ask(web, "/users");
    await ask(web, "/users");
    assert.equal((await ask(web, "/users")).status, 429);
    await web.dispose();
  });

  test("reports a client that goes away while the store decides to the rule of refunds", async () => {
    for (
      const [refund, costs] of [
        ["failed", [1]],
        [({ status }: { status: number }) => status === 499, [1, -1]],
      ] as const
    ) {
      const memory = memoryStore();
      let answer = () => {};
      const answering = new Promise<void>((resolve) => answer = resolve);
      const asked: number[] = [];
      const store = {
        ...asyncMemoryStore(),
        run: async (...[operations, now]: Parameters<typeof memory.run>) => {
          asked.push(operations[0]!.cost);
          await answering;
          return memory.run(operations, now);
        },
      };
      const web = server({ limit: api, key: everybody, refund }, layerStore(store));
      const controller = new AbortController();
      const request = new Request("http://localhost/users", { signal: controller.signal });
      const answered = web.handler(request);
      while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      controller.abort();
      await new Promise((resolve) => setTimeout(resolve, 1));
      answer();
      await answered.catch(() => {});
      assert.deepEqual(asked, costs);
      await web.dispose();
    }
  });

  test("gives nothing back to a client that goes away, though its handler goes on, and fails", async () => {
    const stubborn = HttpApiGroup.make("stubborn")
      .add(HttpApiEndpoint.get("write", "/write", { success: Schema.String }))
      .middleware(RateLimit);
    const OneApi = HttpApi.make("one").add(stubborn);
    const client = new AbortController();
    const leaving = Effect.andThen(
      Effect.sync(() => client.abort()),
      Effect.andThen(Effect.sleep(1), Effect.die("no disk")),
    );
    const store = memoryStore();
    const web = HttpRouter.toWebHandler(
      HttpApiBuilder.layer(OneApi).pipe(
        Layer.provide(HttpApiBuilder.group(
          OneApi,
          "stubborn",
          (group) => group.handle("write", () => Effect.uninterruptible(leaving)),
        )),
        Layer.provide(layerRateLimit({ limit: api, key: everybody, refund: "failed" })),
        Layer.provide(layerStore(store)),
        Layer.provide(HttpServer.layerServices),
      ),
      { disableLogger: true },
    );
    const { signal } = client;
    await web.handler(new Request("http://localhost/write", { signal })).catch(() => {});
    await web.dispose();
    const balance = store.internals!.prepare!("api", api.algorithm)(
      "everybody",
      0,
      true,
      undefined,
    );
    assert.equal(balance.remaining, 1);
  });

  test("answers 503 when the store cannot decide, and logs why", async () => {
    const failure = new StoreUnavailableError("Cannot reach Redis", "no");
    const store = { ...asyncMemoryStore(), run: () => Promise.reject(failure) };
    const logged: unknown[] = [];
    const web = server({ limit: api, key: everybody }, layerStore(store), logged);
    const { status, body } = await ask(web, "/users");
    assert.deepEqual([status, JSON.parse(body).title], [503, "Temporary Reduced Capacity"]);
    assert.deepEqual(logged, [["Cannot limit the rate of a request", failure]]);
    await web.dispose();
  });

  for (const [way, fail] of Object.entries(WAYS_TO_FAIL)) {
    test(`logs every function of the options that ${way}, and answers all the same`, async () => {
      const logged: unknown[] = [];
      const failing = { refund: fail, shadow: fail, partition: fail };
      const web = server({ limit: api, key: everybody, ...failing }, layerMemory(), logged);
      const printed = await printedBy(async () => {
        const { status, fields } = await ask(web, "/users");
        assert.deepEqual([status, fields[1]], [200, '"api";r=1;t=30']);
      });
      assert.deepEqual(logged, Array(3).fill(["Cannot limit the rate of a request", FAILURE]));
      assert.deepEqual(printed, []);
      await web.dispose();
    });
  }

  test("exposes its fields to other origins beside those that are exposed already", async () => {
    const web = HttpRouter.toWebHandler(
      HttpApiBuilder.layer(Api).pipe(
        Layer.provide(handlers),
        Layer.provide(layerRateLimit({ limit: api, key: everybody, exposeHeaders: true })),
        Layer.provide(layerMemory()),
        Layer.provide(HttpRouter.cors({ exposedHeaders: ["ETag"] })),
        Layer.provide(HttpServer.layerServices),
      ),
      { disableLogger: true },
    );
    const { headers } = await web.handler(new Request("http://localhost/users"));
    assert.equal(
      headers.get("access-control-expose-headers"),
      "ETag, RateLimit-Policy, RateLimit",
    );
    await web.dispose();
  });

  test("writes instants of the TestClock", async () => {
    const program = Effect.gen(function* () {
      yield* TestClock.setTime(1_764_000_000_000);
      const client = yield* HttpApiTest.groups(Api, ["users"]);
      const [, response] = yield* client.users.list({ responseMode: "decoded-and-response" });
      assert.equal(response.headers["x-ratelimit-reset"], "1764000030");
    });
    const layer = handlers.pipe(
      Layer.provideMerge(layerRateLimit({ limit: api, key: everybody, headers: "legacy" })),
      Layer.provideMerge(layerMemory()),
      Layer.provideMerge(HttpServer.layerServices),
      Layer.provideMerge(TestClock.layer()),
    );
    await Effect.runPromise(Effect.scoped(Effect.provide(program, layer)));
  });

  test("answers 503 when the failure policy refuses", async () => {
    const memory = memoryStore();
    const down: Decision = {
      allowed: false,
      limit: 2,
      remaining: 0,
      retryAfter: 1_000,
      nextAfter: 0,
      resetAfter: 0,
      delay: 0,
      debt: 0,
      source: "policy",
      parts: undefined,
    };
    const failing = { ...memory, internals: undefined, run: () => [down] };
    const web = server({ limit: api, key: everybody }, layerStore(failing));
    const { status, fields, body } = await ask(web, "/users");
    assert.deepEqual([status, fields], [503, [null, null, "1", "no-store"]]);
    assert.equal(JSON.parse(body).title, "Temporary Reduced Capacity");
    await web.dispose();
  });

  test("refuses a request without a key, and one whose key is too long", async () => {
    const web = server({ limit: api, key: (request) => request.headers["x-api-key"] });
    assert.equal((await ask(web, "/users")).status, 400);
    assert.equal((await ask(web, "/users", { "x-api-key": "a".repeat(2_000) })).status, 431);
    assert.equal((await ask(web, "/users", { "x-api-key": "a" })).status, 200);
    await web.dispose();
  });

  test("does not lump clients of unknown address together", async () => {
    const refusing = server({ limit: api, unknownAddress: "refuse" });
    assert.equal((await ask(refusing, "/users")).status, 403);
    const admitting = server({ limit: api, unknownAddress: "admit" });
    for (let i = 0; i < 3; i++) assert.equal((await ask(admitting, "/users")).status, 200);
    const undecided = server({ limit: api });
    assert.equal((await ask(undecided, "/users")).status, 500);
    for (const web of [refusing, admitting, undecided]) await web.dispose();
  });

  test("decides by the TestClock, and fails generated clients with a typed error", async () => {
    const program = Effect.gen(function* () {
      const client = yield* HttpApiTest.groups(Api, ["users"]);
      yield* client.users.list();
      yield* client.users.list();
      const error = yield* Effect.flip(client.users.list());
      assert.ok(error instanceof QuotaExceeded);
      assert.equal(error._tag, "QuotaExceeded");
      assert.deepEqual(error["violated-policies"], ["api"]);
      yield* TestClock.adjust("30 seconds");
      assert.equal(yield* client.users.list(), "0 left");
    });
    const layer = handlers.pipe(
      Layer.provideMerge(layerRateLimit({ limit: api, key: everybody })),
      Layer.provideMerge(layerMemory()),
      Layer.provideMerge(HttpServer.layerServices),
      Layer.provideMerge(TestClock.layer()),
    );
    await Effect.runPromise(Effect.scoped(Effect.provide(program, layer)));
  });

  test("waits out a queue's delay before the handler", async () => {
    const queue = limit("queue", leakyQueue({ limit: 1, period: "30ms", queue: 1 }));
    const web = server({ limit: queue, key: everybody });
    const start = Effect.runSync(Clock.currentTimeMillis);
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => ask(web, "/users")));
    assert.deepEqual([first!.status, second!.status, third!.status], [200, 200, 429]);
    assert.ok(Effect.runSync(Clock.currentTimeMillis) - start >= 29);
    await web.dispose();
  });
});

describe("the options of the middleware", () => {
  const rate = { limit: 1, period: "1s" } as const;

  test("are checked when it is made", () => {
    const bad: [options: unknown, error: RegExp][] = [
      [undefined, /^TypeError: Cannot create layerRateLimit as its options must be an object/],
      [{}, /^TypeError: Cannot create layerRateLimit as it needs a limit/],
      [{ limit: null }, /^TypeError: Cannot create layerRateLimit as it needs a limit/],
      [{ limit: "api" }, /^TypeError: Cannot create layerRateLimit as it needs a limit/],
      [{ limit: gcra(rate) }, /^TypeError: Cannot create layerRateLimit as it needs a limit/],
      [{ limit: api, cost: -1 }, /^RangeError: .*cost must be/],
      [{ limit: api, cost: "1" }, /^(Type|Range)Error: .*cost must be/],
      [{ limit: api, key: "address" }, /^TypeError: .*key must be a function/],
      [{ limit: api, skip: true }, /^TypeError: .*skip must be a function/],
      [{ limit: api, refund: "fail" }, /^TypeError: .*refund must be/],
      [{ limit: limit("api", gcra({ ...rate, name: "a\r\nb" })) }, /^RangeError: .*policy's name/],
    ];
    for (const [options, error] of bad) {
      assert.throws(() => layerRateLimit(options as never), error, JSON.stringify(options));
    }
    layerRateLimit({ limit: () => undefined, cost: () => Effect.succeed(1) });
  });
});

describe("over a real socket", () => {
  test("a client is the address that a trusted proxy vouches for", async () => {
    const peers = new WeakMap<object, string>();
    const web = server({
      limit: api,
      address: ({ source }) => peers.get(source),
      trustedProxies: ["loopback"],
      unknownAddress: "refuse",
    });
    const node = createServer((incoming, outgoing) => {
      const { url, headers, socket } = incoming;
      const request = new Request(`http://localhost${url}`, {
        headers: headers as Record<string, string>,
      });
      peers.set(request, socket.remoteAddress!);
      web.handler(request).then(async (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers));
        outgoing.end(await response.text());
      });
    });
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
    const { port } = node.address() as AddressInfo;

    async function statusOf(forwarded?: string): Promise<number> {
      const headers: Record<string, string> = forwarded === undefined
        ? {}
        : { "x-forwarded-for": forwarded };
      const response = await fetch(`http://127.0.0.1:${port}/users`, { headers });
      await response.text();
      return response.status;
    }
    try {
      const client = "6.6.6.6, 192.0.2.7, 127.0.0.1";
      for (const status of [200, 200, 429]) assert.equal(await statusOf(client), status);
      assert.equal(await statusOf("192.0.2.8"), 200);
      for (const nobody of [undefined, "192.0.2.9, unknown"]) {
        assert.equal(await statusOf(nobody), 403);
      }
    } finally {
      node.closeAllConnections();
      await new Promise((resolve) => node.close(resolve));
      await web.dispose();
    }
  });
});
