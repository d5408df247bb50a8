import "reflect-metadata";
import {
  BadRequestException,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Module,
  NotFoundException,
  Req,
  Res,
  StreamableFile,
  UseGuards,
} from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import { ExecutionContextHost } from "@nestjs/core/helpers/execution-context-host.js";
import { ThrottlerGuard, ThrottlerModule, ThrottlerStorageService } from "@nestjs/throttler";
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { map, type Observable } from "rxjs";

import {
  type NestRequest,
  rateLimitGuard,
  throttlerStorage,
} from "../../../adapters/frameworks/nestjs.ts";
import { gcra, limiter, memoryStore } from "../../../mod.ts";
import { describeEndings } from "../../support/adapter_behaviour.ts";
import { statuses, using } from "../../support/adapter_subject.ts";
import { rawRequest } from "../../support/raw_request.ts";
import type { TestServer } from "../../support/serve_fetch.ts";
import { serveNode } from "../../support/serve_node.ts";

/** Decorates without the syntax for it, which not every runtime of the suite has. */
function makeApp(decorate: (module: typeof AppModule) => void): Promise<INestApplication> {
  decorate(AppModule);
  return NestFactory.create(AppModule, { logger: false });
}

class AppModule {}

type Answerer = (request: IncomingMessage & NestRequest, response: ServerResponse) => unknown;

function controller(
  path: string,
  guards: readonly Parameters<typeof UseGuards>[0][] = [],
  answer: Answerer = () => "hello",
) {
  class Answers {
    get(request: IncomingMessage & NestRequest, response: ServerResponse): unknown {
      return answer(request, response);
    }
  }
  Controller(path)(Answers);
  const method = Object.getOwnPropertyDescriptor(Answers.prototype, "get")!;
  Get()(Answers.prototype, "get", method);
  Req()(Answers.prototype, "get", 0);
  Res({ passthrough: true })(Answers.prototype, "get", 1);
  if (guards.length > 0) UseGuards(...guards)(Answers.prototype, "get", method);
  return Answers;
}

async function serve(app: INestApplication): Promise<TestServer> {
  await app.listen(0, "127.0.0.1");
  const { port } = app.getHttpServer().address();
  return { port, close: () => app.close() };
}

async function serving(app: INestApplication, work: (port: number) => Promise<void>) {
  await using(await serve(app), work);
}

const boom = () => {
  throw new Error("boom");
};

describeEndings("tidegate/nestjs", {
  makers: [rateLimitGuard],
  async start(limits, { flow, slow }) {
    const answers: Record<string, Answerer> = {
      "": () => "hello",
      text: () => "hello",
      json: () => ({ a: 1 }),
      image: () => new StreamableFile(new Uint8Array(4), { type: "image/png" }),
      empty: (_request, response) => void (response.statusCode = 204),
      missing: () => {
        throw new NotFoundException();
      },
      left: ({ rateLimit }) => String((rateLimit as { remaining: number }).remaining),
      bad: () => {
        throw new BadRequestException("bad");
      },
      throw: boom,
      replaced: () => "hello",
      stream: () =>
        new StreamableFile(
          Readable.from((async function* () {
            yield "one";
            await flow();
            yield "two";
          })()),
          { type: "text/plain" },
        ),
      slow: (request) =>
        new Promise((resolve, reject) => {
          slow(
            (gone) => request.once("aborted", gone),
            (fails) => fails ? reject(new Error("gone")) : resolve("late"),
          );
        }),
    };
    const controllers = Object.entries(answers).map(([path, get]) => controller(path, [], get));
    const app = await makeApp(Module({ controllers }));
    app.useGlobalGuards(...limits.map((options) => rateLimitGuard(options)));
    app.useGlobalInterceptors({
      intercept(context, next): Observable<unknown> {
        const http = context.switchToHttp();
        if (http.getRequest().url !== "/replaced") return next.handle();
        http.getResponse().status(418);
        return next.handle().pipe(map(() => "replaced"));
      },
    });
    return await serve(app);
  },
  async startScoped(options) {
    const guard = rateLimitGuard(options);
    const app = await makeApp(Module({
      controllers: ["in", "out"].flatMap((place) => {
        const guards = place === "in" ? [guard] : [];
        return [controller(`${place}/text`, guards), controller(`${place}/throw`, guards, boom)];
      }),
    }));
    return await serve(app);
  },
  async startAnswering(options, { answered, went }) {
    const app = await makeApp(
      Module({ controllers: [controller("", [rateLimitGuard(options)], () => went("handler"))] }),
    );
    app.use((_request: unknown, response: ServerResponse, next: () => void) => {
      next();
      response.writeHead(503).end("too late");
      answered();
    });
    return await serve(app);
  },
});

/** Calls at an instant of the clock that Nest's own storage reads, before it gives way. */
function at<Result>(now: number, call: () => Result): Result {
  const real = Date.now;
  Date.now = () => now;
  try {
    return call();
  } finally {
    Date.now = real;
  }
}

describe("tidegate/nestjs", () => {
  test("guards single routes", async () => {
    const guard = rateLimitGuard({
      limiter: limiter(gcra({ limit: 2, period: "1h", burst: 2, name: "api" })),
    });
    const app = await makeApp(
      Module({ controllers: [controller("free"), controller("limited", [guard])] }),
    );
    await serving(app, async (port) => {
      assert.deepEqual(await statuses(port, 2, "/limited"), [200, 200]);
      const refused = await rawRequest(port, { path: "/limited" });
      assert.equal(refused.status, 429);
      assert.deepEqual(refused.values("ratelimit-policy"), ['"api";q=2;w=3600']);
      assert.match(refused.values("retry-after").join(), /^\d+$/);
      assert.deepEqual(JSON.parse(refused.body)["violated-policies"], ["api"]);
      assert.deepEqual(await statuses(port, 3, "/free"), [200, 200, 200]);
    });
  });

  test("guards all routes of an app, and gives failed requests back", async () => {
    const api = limiter(gcra({ limit: 2, period: "1h", burst: 2 }));
    const app = await makeApp(Module({ controllers: [controller("limited")] }));
    app.useGlobalGuards(rateLimitGuard({ limiter: api, key: () => "one", refund: "failed" }));
    await serving(app, async (port) => {
      assert.deepEqual(await statuses(port, 1, "/missing"), [404]);
      assert.deepEqual(await statuses(port, 3, "/limited"), [200, 200, 429]);
    });
  });

  for (const [trustedProxies, client] of [[undefined, "192.0.2.1"], [["loopback"], "192.0.2.9"]]) {
    test(`believes the platform about addresses unless trustedProxies is given: ${client}`, async () => {
      const keys: string[] = [];
      const guard = rateLimitGuard({
        limiter: limiter(gcra({ limit: 1, period: "1h", burst: 1 })),
        trustedProxies: trustedProxies as string[] | undefined,
        onDecision: (_decision, _request, key) => keys.push(key),
      });
      const socket = { remoteAddress: "127.0.0.1" };
      const request = { ip: "192.0.2.1", socket, headers: { "x-forwarded-for": "192.0.2.9" } };
      const response = { getHeader: () => undefined, setHeader() {} };
      const http = { getRequest: () => request, getResponse: () => response };
      await guard.canActivate({ switchToHttp: () => http });
      assert.deepEqual(keys, [client]);
    });
  }

  test("answers with the text or the JSON of respond", async () => {
    const body = (text: string) =>
      rateLimitGuard({
        limiter: limiter(gcra({ limit: 1, period: "1h", burst: 1 })),
        cost: 2,
        respond: () => ({ status: 418, body: text }),
      });
    const app = await makeApp(Module({
      controllers: [controller("text", [body("slow down")]), controller("json", [body('{"a":1}')])],
    }));
    await serving(app, async (port) => {
      const text = await rawRequest(port, { path: "/text" });
      assert.deepEqual([text.status, JSON.parse(text.body).message], [418, "slow down"]);
      const json = await rawRequest(port, { path: "/json" });
      assert.deepEqual([json.status, JSON.parse(json.body)], [418, { a: 1 }]);
    });
  });

  test("counts for @nestjs/throttler", async () => {
    const storage = throttlerStorage({ store: memoryStore(), prefix: "throttled" });
    const app = await makeApp(Module({
      imports: [ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 2 }], storage })],
      controllers: [controller("limited")],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    }));
    await serving(app, async (port) => {
      assert.deepEqual(await statuses(port, 3, "/limited"), [200, 200, 429]);
    });
  });

  for (const blockDuration of [500, 1_000, 5_000]) {
    test(`blocks of ${blockDuration} ms end as in @nestjs/throttler's own storage`, async () => {
      let now = 1_000_000;
      const own = new ThrottlerStorageService();
      const ours = throttlerStorage({ clock: () => now });
      const hit = (storage: Pick<typeof ours, "increment">) =>
        at(now, () => storage.increment("one", 1_000, 2, blockDuration, "default"));
      const seen: string[] = [];
      for (const passed of [0, 0, 0, blockDuration - 1, 1, 0, 0, blockDuration, 2_000]) {
        now += passed;
        const [expected, { totalHits, isBlocked, timeToBlockExpire }] = [
          await hit(own),
          await hit(ours),
        ];
        seen.push(isBlocked ? "429" : "200");
        assert.equal(isBlocked, expected.isBlocked);
        // Theirs forgets hits during a long block; nothing reads their number then.
        if (isBlocked) assert.equal(timeToBlockExpire, expected.timeToBlockExpire);
        else assert.equal(totalHits, expected.totalHits);
      }
      own.onApplicationShutdown();
      assert.equal(seen.join(" "), "200 200 429 429 200 200 429 200 200");
    });
  }

  test("blocks of no duration last until the window ends", async () => {
    let now = 1_000_000;
    const own = new ThrottlerStorageService();
    const ours = throttlerStorage({ clock: () => now });
    for (const passed of [0, 0, 0, 0, 999, 1, 0, 0]) {
      now += passed;
      const hit = (storage: Pick<typeof ours, "increment">) =>
        at(now, () => storage.increment("one", 1_000, 2, 0, "default"));
      const [expected, answer] = [await hit(own), await hit(ours)];
      assert.deepEqual(answer, expected);
    }
    own.onApplicationShutdown();
  });

  test("a limit of 0 of @nestjs/throttler admits nothing", async () => {
    const { increment } = throttlerStorage({ clock: () => 0 });
    for (const blockDuration of [0, 500]) {
      const { isBlocked } = await increment(`${blockDuration}`, 1_000, 0, blockDuration, "default");
      assert.equal(isBlocked, true);
    }
  });

  test("a store needs a prefix", () => {
    assert.throws(() => throttlerStorage({ store: memoryStore() }), TypeError);
  });
});

describe("a guard of tidegate/nestjs outside HTTP", () => {
  /** The context that Nest itself makes for a resolver or a message. */
  function contextOf(type: string, args: unknown[]): ExecutionContext {
    const context = new ExecutionContextHost(args);
    context.setType(type);
    return context;
  }

  test("limits messages by key and skip, which get the context, and writes no fields", async () => {
    for (const [type, args] of [["ws", [{}, "data"]], ["rpc", [{ id: 1 }, {}]]] as const) {
      const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }));
      const guard = rateLimitGuard<NestRequest>({
        limiter: api,
        key: (context) => (context as unknown as ExecutionContext).getType(),
        skip: (context) => (context as unknown as ExecutionContext).getArgs().length === 3,
      });
      const context = contextOf(type, [...args]);
      assert.equal(await guard.canActivate(context), true);
      await assert.rejects(guard.canActivate(context), { status: 429 });
      assert.equal(await guard.canActivate(contextOf(type, [1, 2, 3])), true);
      assert.equal(api.peek(type, 0).remaining, 0);
    }
  });

  test("says before it charges that a message needs a key", async () => {
    const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }));
    const guard = rateLimitGuard({ limiter: api });
    await assert.rejects(guard.canActivate(contextOf("rpc", [{}])), /give key, which gets the/);
    assert.deepEqual(api.store.statistics().keys, 0);
  });

  test("limits a request of GraphQL once, of Apollo and of Mercurius", async () => {
    const api = limiter(gcra({ limit: 2, period: "1h", burst: 2 }));
    const guard = rateLimitGuard({ limiter: api, key: () => "one" });
    let mercurius = false;
    const server = await serveNode((req, res) => {
      const graphql = mercurius ? { reply: { request: req, raw: res } } : { req, res };
      const context = contextOf("graphql", [undefined, {}, graphql, {}]);
      Promise.all([guard.canActivate(context), guard.canActivate(context)]).then(
        () => res.end("data"),
        ({ status }) => res.writeHead(status).end(),
      );
    });
    await using(server, async (port) => {
      for (const [status, left] of [[200, 1], [200, 0], [429, 0]] as const) {
        const answer = await rawRequest(port);
        assert.equal(answer.status, status);
        assert.match(answer.values("ratelimit").join(), new RegExp(`r=${left};`));
        mercurius = true;
      }
    });
  });
});
