import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  Cause,
  Context,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Metric,
  Schedule,
  Schema,
} from "effect";
import { HttpRouter, HttpServer } from "effect/http";
import {
  HttpApi,
  HttpApiBuilder,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpApiTest,
  OpenApi,
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
  type Decision,
  gcra,
  leakyQueue,
  limiter,
  memoryStore,
  StoreUnavailableError,
} from "../../../../mod.ts";
import { asyncMemoryStore } from "../../../support/async_memory_store.ts";
import { promised } from "../../../support/promised_store.ts";
import { FAILURE, printedBy, WAYS_TO_FAIL } from "../../../support/failing_callbacks.ts";
import { interceptedStore } from "../../../support/intercepted_store.ts";

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
        Effect.map(RateLimitDecision, (decision) => {
          const parts = decision?.parts?.map(({ remaining }) => remaining);
          return `${parts ?? decision?.remaining} left`;
        }))
      .handle("teapot", () => Effect.fail({ why: "I am a teapot" }))),
  HttpApiBuilder.group(
    Api,
    "open",
    (group) => group.handle("hello", () => Effect.succeed("hello")),
  ),
);

const api = limit("api", gcra({ limit: 2, period: "1m", burst: 2, name: "api" }));
const forAll: RateLimitOptions = { limit: api, key: () => "everybody" };

/** Asks for a path, with header fields; `handler` takes a request as it is. */
type Ask = Awaited<ReturnType<typeof askOf>>;

/** Uses the API under options, or under a layer of the middleware. */
async function serving(
  limited: RateLimitOptions | { readonly layer: Layer.Layer<RateLimit, never, RateLimiter> },
  use: (ask: Ask) => Promise<void>,
  { limiter = layerMemory(), logged = [], more = Layer.empty }: {
    limiter?: Layer.Layer<RateLimiter>;
    logged?: unknown[];
    more?: Layer.Layer<never, never, HttpRouter.HttpRouter>;
  } = {},
): Promise<void> {
  const logger = Logger.make(({ message }) => logged.push(message));
  const layer = HttpApiBuilder.layer(Api).pipe(
    Layer.provide(handlers),
    Layer.provide("layer" in limited ? limited.layer : layerRateLimit(limited)),
    Layer.provide(limiter),
    Layer.provide(more),
    Layer.provide(HttpServer.layerServices),
    Layer.provideMerge(Logger.layer([logger])),
  );
  const web = HttpRouter.toWebHandler(layer, { disableLogger: true });
  await use(askOf(web.handler)).finally(web.dispose);
}

function askOf(handler: (request: Request, context?: never) => Promise<Response>) {
  async function ask(path: string, headers: Record<string, string> = {}) {
    const response = await handler(new Request(`http://localhost${path}`, { headers }));
    const limits = ["ratelimit-policy", "ratelimit", "retry-after", "cache-control"];
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      fields: limits.map((name) => response.headers.get(name)),
      body: await response.text(),
    };
  }
  return Object.assign(ask, { handler });
}

/** A layer of the API under a `TestClock`, for generated clients. */
const testedApi = (options: Partial<RateLimitOptions>) =>
  handlers.pipe(
    Layer.provideMerge(layerRateLimit({ ...forAll, ...options })),
    Layer.provideMerge(layerMemory()),
    Layer.provideMerge(HttpServer.layerServices),
    Layer.provideMerge(TestClock.layer()),
  );

describe("the middleware of HttpApi", () => {
  test("answers 200, 200, 429, to the letter", () =>
    serving(forAll, async (ask) => {
      const policy = '"api";q=2;w=60';
      assert.deepEqual(await ask("/users"), {
        status: 200,
        type: "application/json",
        fields: [policy, '"api";r=1;t=30', null, null],
        body: '"1 left"',
      });
      assert.deepEqual((await ask("/users")).fields[1], '"api";r=0;t=30');
      const { body, ...refused } = await ask("/users");
      assert.deepEqual(refused, {
        status: 429,
        type: "application/problem+json",
        fields: [policy, '"api";r=0;t=30', "30", "no-store"],
      });
      const { retryAfter, ...problem } = JSON.parse(body);
      assert.ok(retryAfter > 29_000 && retryAfter <= 30_000, retryAfter);
      assert.deepEqual(problem, {
        type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Quota Exceeded",
        status: 429,
        "violated-policies": ["api"],
      });
    }));

  test("leaves other groups, and errors of handlers, alone", () =>
    serving(forAll, async (ask) => {
      const { fields, status } = await ask("/hello");
      assert.deepEqual([status, fields], [200, [null, null, null, null]]);
      const teapot = await ask("/teapot");
      assert.deepEqual([teapot.status, JSON.parse(teapot.body)], [418, { why: "I am a teapot" }]);
      assert.equal(teapot.fields[1], '"api";r=1;t=30');
    }));

  test("runs effects among the options as parts of the request, and not of the server's start", async () => {
    const tenant = Context.Reference("tenant", { defaultValue: () => "nobody" });
    const tenants: string[] = [];
    const key = () => Effect.map(tenant, (name) => (tenants.push(name), name));
    const middleware = layerRateLimit({ limit: api, key });
    await serving(
      { layer: Layer.provide(middleware, Layer.succeed(tenant, "startup")) },
      async (ask) => {
        const request = new Request("http://localhost/users");
        await ask.handler(request, Context.make(tenant, "acme") as never);
      },
    );
    assert.deepEqual(tenants, ["acme"]);
  });

  test("takes limit, key, cost and skip from the request and the route", () => {
    class Plan extends Context.Service<Plan, { readonly cost: number }>()("tests/Plan") {}
    const middleware = layerRateLimit({
      limit: (_request, { endpoint }) => endpoint.identifier === "list" ? api : "unlimited",
      key: (request) => Effect.succeed(request.headers["x-api-key"] ?? "nobody"),
      cost: () => Plan.use(({ cost }) => Effect.succeed(cost)),
      skip: (request) => request.headers["x-free"] === "yes",
    });
    return serving(
      { layer: Layer.provide(middleware, Layer.succeed(Plan, { cost: 2 })) },
      async (ask) => {
        for (
          const [path, key, free, status] of [
            ["/users", "a", "", 200],
            ["/users", "a", "", 429],
            ["/users", "b", "", 200],
            ["/users", "a", "yes", 200],
            ["/teapot", "a", "", 418],
          ] as const
        ) {
          assert.equal((await ask(path, { "x-api-key": key, "x-free": free })).status, status);
        }
      },
    );
  });

  test("gives back the units of failed requests where the options say so", () =>
    serving({ ...forAll, refund: "failed" }, async (ask) => {
      for (let i = 0; i < 5; i++) assert.equal((await ask("/teapot")).status, 418);
      for (const status of [200, 200, 429]) assert.equal((await ask("/users")).status, status);
    }));

  for (
    const [refund, costs] of [
      ["failed", [1]],
      [({ status }: { status: number }) => status === 499, [1, -1]],
    ] as const
  ) {
    test(`reports a client that leaves while the store decides: costs ${costs}`, async () => {
      const { store, held } = promised(memoryStore());
      const seen: number[] = [];
      const watched = interceptedStore(store, (calls, proceed) => {
        seen.push(calls[0]!.cost);
        return proceed();
      });
      const limiter = layerStore(watched);
      await serving({ ...forAll, refund }, async ({ handler }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const answered = handler(new Request("http://localhost/users", { signal }));
        while (held.count() === 0) await turn();
        controller.abort();
        await turn();
        held.release();
        await answered.catch(() => {});
        held.release();
      }, { limiter });
      assert.deepEqual(seen, costs);
    });
  }

  test("answers 503 when the store cannot decide, and logs why", async () => {
    const failure = new StoreUnavailableError("Cannot reach Redis", "no");
    const store = interceptedStore(asyncMemoryStore(), () => Promise.reject(failure));
    const logged: unknown[] = [];
    await serving(forAll, async (ask) => {
      const { status, body } = await ask("/users");
      assert.deepEqual([status, JSON.parse(body).title], [503, "Temporary Reduced Capacity"]);
    }, { limiter: layerStore(store), logged });
    assert.deepEqual(logged, [["Cannot limit the rate of a request", failure]]);
  });

  for (const [way, fail] of Object.entries(WAYS_TO_FAIL)) {
    test(`logs every function of the options that ${way}, and still answers`, async () => {
      const logged: unknown[] = [];
      const failing = { refund: fail, shadow: fail, partition: fail };
      await serving({ ...forAll, ...failing }, async (ask) => {
        const printed = await printedBy(async () => {
          const { status, fields } = await ask("/users");
          assert.deepEqual([status, fields[1]], [200, '"api";r=1;t=30']);
        });
        assert.deepEqual(logged, Array(3).fill(["Cannot limit the rate of a request", FAILURE]));
        assert.deepEqual(printed, []);
      }, { logged });
    });
  }

  test("exposes its fields to other origins, in addition to fields that are exposed already", () =>
    serving({ ...forAll, exposeHeaders: true }, async ({ handler }) => {
      const { headers } = await handler(new Request("http://localhost/users"));
      const exposed = headers.get("access-control-expose-headers");
      assert.equal(exposed, "ETag, RateLimit-Policy, RateLimit");
    }, { more: HttpRouter.cors({ exposedHeaders: ["ETag"] }) }));

  test("writes instants of the TestClock", async () => {
    const program = Effect.gen(function* () {
      yield* TestClock.setTime(1_764_000_000_000);
      const client = yield* HttpApiTest.groups(Api, ["users"]);
      const [, response] = yield* client.users.list({ responseMode: "decoded-and-response" });
      assert.equal(response.headers["x-ratelimit-reset"], "1764000030");
    });
    await Effect.runPromise(
      Effect.scoped(Effect.provide(program, testedApi({ headers: "legacy" }))),
    );
  });

  test("answers 503 when the failure policy refuses", () => {
    const memory = memoryStore();
    const [decision] = api.algorithm.step(api.algorithm.initial, 0, 3);
    const down: Decision = { ...decision, retryAfter: 1_000, source: "policy" };
    const failing = interceptedStore(memory, () => [down]);
    return serving(forAll, async (ask) => {
      const { status, fields, body } = await ask("/users");
      assert.deepEqual([status, fields], [503, [null, null, "1", "no-store"]]);
      assert.equal(JSON.parse(body).title, "Temporary Reduced Capacity");
    }, { limiter: layerStore(failing) });
  });

  test("fails generated clients with typed errors, which say when to retry", async () => {
    let key: string | undefined;
    const program = Effect.gen(function* () {
      const client = yield* HttpApiTest.groups(Api, ["users"]);
      const missing = yield* Effect.flip(client.users.list());
      assert.ok(missing._tag === "BadRequestProblem", String(missing));
      assert.match(missing.message, /no key/);
      key = "a".repeat(2_000);
      assert.equal((yield* Effect.flip(client.users.list()))._tag, "KeyTooLong");

      key = "a";
      yield* client.users.list();
      yield* client.users.list();
      const refused = yield* Effect.flip(client.users.list());
      assert.ok(refused instanceof QuotaExceeded);
      assert.deepEqual(refused["violated-policies"], ["api"]);
      assert.deepEqual(refused.retryAfter, Duration.seconds(30));

      const waits = Schedule.forever.pipe(
        Schedule.setInputType<unknown>(),
        Schedule.addDelay(({ input }) => Effect.succeed((input as QuotaExceeded).retryAfter!)),
      );
      const retried = yield* client.users.list().pipe(
        Effect.retry({
          while: (error) => error._tag === "QuotaExceeded" && error.retryAfter !== undefined,
          schedule: waits,
        }),
        Effect.forkChild,
      );
      yield* TestClock.adjust("29999 millis");
      assert.equal(retried.pollUnsafe(), undefined);
      yield* TestClock.adjust("1 millis");
      assert.equal(yield* Fiber.join(retried), "0 left");
    });
    await Effect.runPromise(Effect.scoped(Effect.provide(program, testedApi({ key: () => key }))));
  });

  test("declares each of its answers to OpenAPI", () => {
    const { responses } = OpenApi.fromApi(Api).paths["/users"]!.get!;
    assert.deepEqual(Object.keys(responses), ["200", "400", "403", "429", "431", "503"]);
    assert.deepEqual(Object.keys(responses["429"]!.content!), ["application/problem+json"]);
  });

  test("a request that would never be admitted gets no time to come back", () =>
    serving({ ...forAll, cost: 3 }, async (ask) => {
      const { status, fields, body } = await ask("/users");
      assert.deepEqual([status, fields[2], "retryAfter" in JSON.parse(body)], [429, null, false]);
    }));

  test("waits out a queue's delay before the handler", async () => {
    const queue = limit("queue", leakyQueue({ limit: 1, period: "30s", queue: 1 }));
    const program = Effect.gen(function* () {
      const client = yield* HttpApiTest.groups(Api, ["users"]);
      const seen: string[] = [];
      const ask = (name: string) => Effect.map(client.users.list(), () => seen.push(name));
      yield* ask("first");
      const second = yield* Effect.forkChild(ask("second"));
      yield* TestClock.adjust("29 seconds");
      const error = yield* Effect.flip(client.users.list());
      assert.ok(error instanceof QuotaExceeded);
      assert.deepEqual(seen, ["first"]);
      yield* TestClock.adjust("1 second");
      yield* Fiber.join(second);
      assert.deepEqual(seen, ["first", "second"]);
    });
    await Effect.runPromise(Effect.scoped(Effect.provide(program, testedApi({ limit: queue }))));
  });

  test("refuses a start later than maxDelay, and takes no place in the queue", async () => {
    const queue = limit("queue", leakyQueue({ limit: 1, period: "1h", queue: 5 }));
    const store = memoryStore();
    await serving({ ...forAll, limit: queue, maxDelay: "59m" }, async (ask) => {
      const seen = [await ask("/users"), await ask("/users"), await ask("/users")];
      assert.deepEqual(seen.map(({ status }) => status), [200, 429, 429]);
      assert.equal(seen[2]!.fields[2], "60");
    }, { limiter: layerStore(store) });
    const { remaining } = limiter(queue.algorithm, { store, prefix: "queue" }).peek("everybody", 0);
    assert.equal(remaining, 5);
  });

  for (const [unknownAddress, status] of Object.entries({ refuse: 403, admit: 200, error: 500 })) {
    test(`answers ${status} to a client of no known address: ${unknownAddress}`, () => {
      const own = unknownAddress === "error" ? {} : { unknownAddress: unknownAddress as "admit" };
      return serving({ limit: api, ...own }, async (ask) => {
        for (let calls = 0; calls < 3; calls++) {
          const { status: given, type } = await ask("/users");
          assert.deepEqual([given, type?.includes("problem") === true], [status, status === 403]);
        }
      });
    });
  }

  test("takes the address that a trusted proxy vouches for", () => {
    const options = { address: () => "127.0.0.1", trustedProxies: ["loopback"] };
    return serving({ limit: api, ...options, unknownAddress: "refuse" }, async (ask) => {
      for (
        const [forwarded, status] of [
          ["6.6.6.6, 192.0.2.7, 127.0.0.1", 200],
          ["6.6.6.6, 192.0.2.7, 127.0.0.1", 200],
          ["6.6.6.6, 192.0.2.7, 127.0.0.1", 429],
          ["192.0.2.8", 200],
          ["", 403],
          ["192.0.2.9, unknown", 403],
        ] as const
      ) {
        const headers: Record<string, string> = forwarded ? { "x-forwarded-for": forwarded } : {};
        assert.equal((await ask("/users", headers)).status, status, forwarded);
      }
    });
  });
});

const turn = () => new Promise((resolve) => setTimeout(resolve, 1));

const ofAddress = limit("address", gcra({ limit: 10, period: "1h", burst: 10, name: "address" }));
const ofUser = limit("user", gcra({ limit: 2, period: "1h", burst: 2, name: "user" }));
const limits: RateLimitOptions["limits"] = [
  { limit: ofAddress, key: () => "192.0.2.7" },
  { limit: ofUser, key: ({ headers }) => Effect.succeed(headers["x-user"] ?? "ada") },
];

describe("several limits of an HttpApi", () => {
  for (const [when, makeStore] of Object.entries({ memoryStore, asyncMemoryStore })) {
    test(`spend nothing of the first when the second refuses, on ${when}`, async () => {
      const store = makeStore();
      await serving({ limits }, async (ask) => {
        assert.equal((await ask("/users")).body, '"9,1 left"');
        assert.equal((await ask("/users")).status, 200);
        for (let refused = 0; refused < 5; refused++) {
          const { status, body } = await ask("/users");
          assert.deepEqual([status, JSON.parse(body)["violated-policies"]], [429, ["user"]]);
        }
        const { status, fields } = await ask("/users", { "x-user": "bob" });
        assert.deepEqual([status, fields[0]], [200, '"address";q=10;w=3600, "user";q=2;w=3600']);
        assert.match(fields[1]!, /^"address";r=7;t=\d+, "user";r=1;t=\d+$/);
      }, { limiter: layerStore(store) });
      const { algorithm, prefix } = ofAddress;
      assert.equal((await limiter(algorithm, { store, prefix }).peek("192.0.2.7", 0)).remaining, 7);
    });
  }

  test("count what each limit decided; a limit that would have admitted counts no refusal", async () => {
    const [address, user] = ["several:address", "several:user"].map((prefix, index) =>
      limit(prefix, gcra({ limit: 2 - index, period: "1h", burst: 2 - index }))
    );
    const given = [{ limit: address! }, { limit: user!, key: () => "user" }];
    await serving({ limits: given, key: () => "address" }, async (ask) => {
      for (const status of [200, 429]) assert.equal((await ask("/users")).status, status);
    });
    const counts = (await Effect.runPromise(Metric.snapshot))
      .filter(({ id, attributes }) =>
        id === "tidegate_decisions" && attributes?.["prefix"]?.startsWith("several:")
      )
      .map(({ attributes, state }) =>
        `${attributes!["prefix"]} ${attributes!["verdict"]} ${(state as { count: number }).count}`
      );
    assert.deepEqual(counts.sort(), [
      "several:address admitted 1",
      "several:user admitted 1",
      "several:user refused 1",
    ]);
  });

  test("each limit has its own cost or the common one, and a chosen limit may be absent", () => {
    const user = (
      { headers }: { readonly headers: Readonly<Record<string, string | undefined>> },
    ) => headers["x-user"];
    const own: RateLimitOptions["limits"] = [
      { limit: ofAddress, cost: () => Effect.succeed(3) },
      { limit: (request) => user(request) === "root" ? "unlimited" : ofUser, key: user },
    ];
    return serving({ limits: own, key: () => "everybody", cost: 2 }, async (ask) => {
      const as = (name: string) => ask("/users", { "x-user": name });
      assert.match((await as("ada")).fields[1]!, /^"address";r=7;.*"user";r=0;/);
      assert.match((await as("root")).fields[1]!, /^"address";r=4;t=\d+$/);
      assert.equal((await as("ada")).status, 429);
    });
  });
});

/** The defect of a middleware with these options; `undefined` if it can be made. */
async function defectOf(options: unknown): Promise<unknown> {
  const made = Effect.void.pipe(
    Effect.provide(layerRateLimit(options as never)),
    Effect.provide(layerMemory()),
  );
  const exit = await Effect.runPromiseExit(made);
  return Exit.isFailure(exit) && Cause.hasDies(exit.cause) ? Cause.squash(exit.cause) : undefined;
}

describe("the options of the middleware", () => {
  const rate = { limit: 1, period: "1s", burst: 1 } as const;

  test("are checked when it is made, and a wrong one is a defect", async () => {
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
      [{ limits: [] }, /limits must be a list of 1 to 16 limits/],
      [{ limits: "address" }, /limits must be a list of 1 to 16 limits/],
      [{ limits: [{}] }, /it needs a limit, such as limit\(\.\.\.\)/],
      [{ limits, limit: ofUser }, /limit belongs to the entries of limits/],
      [{ limits: [{ limit: ofUser, kye: () => "" }] }, /kye/],
      [{ limits: [{ limit: ofUser, cost: -1 }] }, /cost/],
    ];
    for (const [options, error] of bad) {
      assert.match(String(await defectOf(options)), error, JSON.stringify(options));
    }
    assert.equal(
      await defectOf({ limit: () => "unlimited", cost: () => Effect.succeed(1) }),
      undefined,
    );
  });
});
