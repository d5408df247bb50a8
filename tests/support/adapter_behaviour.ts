import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, test } from "node:test";

import type { RateLimitOptions } from "../../adapters/http/http.ts";
import type { Limiter } from "../../core/limiter/limiter.ts";
import { all, gcra, leakyQueue, limiter, StoreUnavailableError } from "../../mod.ts";
import { asyncMemoryStore } from "./async_memory_store.ts";
import { failed, FAILURE, printedBy, WAYS_TO_FAIL } from "./failing_callbacks.ts";
import { type RawAnswer, rawRequest } from "./raw_request.ts";
import type { TestServer } from "./serve_fetch.ts";

/** The options that any adapter can be given: no function among them looks at the request. */
// deno-lint-ignore no-explicit-any
export type AnyOptions = RateLimitOptions<any, any>;

/** An app of a framework, with an adapter before its routes. */
export interface AdapterSubject {
  /**
   * Starts an app with these routes, on a free port:
   *
   * | route | answer |
   * |---|---|
   * | `/text` | `hello`, as the framework answers text |
   * | `/json` | `{"a":1}`, as the framework answers an object |
   * | `/image` | four bytes of type `image/png` |
   * | `/empty` | 204 |
   * | `/missing` | whatever the framework answers where there is no route |
   * | `/left` | what remains, read from the decision on the context |
   * | `/bad` | 400 |
   * | `/throw` | an error is thrown, an `Error("boom")` |
   * | `/stream` | `one`, and after `flow()` is kept `two` |
   *
   * @param options Those of the adapter; without them no adapter.
   * @param flow What the stream waits for.
   */
  start(options: AnyOptions | undefined, flow: () => Promise<void>): Promise<TestServer>;
  /** Options that the framework needs on this runtime. */
  readonly options?: Partial<AnyOptions>;
  /** Whether the framework leaves the character set out as soon as a plugin sets a field. */
  readonly ignoresCharset?: boolean;
}

/** An instant that clocks of these tests stand at. */
const NOW = 1_764_000_000_000;

const ROUTES = ["/text", "/json", "/image", "/empty", "/missing", "/left", "/bad", "/throw"];

/** A limiter that admits two, then one every six seconds; its clock stands still. */
export function apiLimiter(): Limiter {
  return limiter(gcra({ name: "api", limit: 10, period: "1m", burst: 2 }), { clock: () => NOW });
}

/** What every inbound adapter does, with the real framework over a real socket. */
export function describeAdapter(name: string, subject: AdapterSubject): void {
  const noFlow = () => Promise.resolve();

  async function serving(
    options: Partial<AnyOptions> | undefined,
    use: (port: number) => Promise<void>,
    flow = noFlow,
  ): Promise<void> {
    const given = options && { limiter: apiLimiter(), ...subject.options, ...options };
    const server = await subject.start(given, flow);
    try {
      await use(server.port);
    } finally {
      await server.close();
    }
  }

  function typeOf({ values }: RawAnswer): string | undefined {
    const type = values("content-type").join();
    return subject.ignoresCharset ? type.split(";")[0] : type;
  }

  async function statuses(port: number, count: number, path = "/text", lines: string[] = []) {
    const seen: number[] = [];
    while (seen.length < count) seen.push((await rawRequest(port, { path, lines })).status);
    return seen;
  }

  describe(name, () => {
    test("answers 200 twice, then 429, with these header lines", () =>
      serving({}, async (port) => {
        for (const left of [1, 0]) {
          const answer = await rawRequest(port, { path: "/text" });
          assert.equal(answer.status, 200);
          assert.equal(answer.body, "hello");
          assert.deepEqual(answer.values("ratelimit-policy"), ['"api";q=10;w=60']);
          assert.deepEqual(answer.values("ratelimit"), [`"api";r=${left};t=6`]);
          assert.deepEqual(answer.values("retry-after"), []);
        }
        const refused = await rawRequest(port, { path: "/text" });
        assert.equal(refused.status, 429);
        assert.deepEqual(refused.values("ratelimit-policy"), ['"api";q=10;w=60']);
        assert.deepEqual(refused.values("ratelimit"), ['"api";r=0;t=6']);
        assert.deepEqual(refused.values("retry-after"), ["6"]);
        assert.deepEqual(refused.values("cache-control"), ["no-store"]);
        assert.deepEqual(refused.values("content-type"), ["application/problem+json"]);
        assert.equal(
          refused.body,
          '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",' +
            '"title":"Quota Exceeded","status":429,"violated-policies":["api"]}',
        );
      }));

    test("leaves status, content type and body of every route as they are", () =>
      serving(undefined, (bare) =>
        serving({ cost: 0 }, async (port) => {
          for (const path of ROUTES) {
            const [expected, answer] = [
              await rawRequest(bare, { path }),
              await rawRequest(port, { path }),
            ];
            assert.equal(answer.status, expected.status, path);
            assert.deepEqual(typeOf(answer), typeOf(expected), path);
            // Some frameworks show the call stack, and make the answer where no adapter reaches.
            if (path === "/throw") continue;
            if (path !== "/left") assert.equal(answer.body, expected.body, path);
            assert.deepEqual(answer.values("ratelimit"), ['"api";r=2'], path);
          }
        })));

    test("passes the handler's errors on", () =>
      serving({}, async (port) => {
        assert.deepEqual(await statuses(port, 3, "/throw"), [500, 500, 429]);
      }));

    test("puts the decision on the context", () =>
      serving({}, async (port) => {
        assert.equal((await rawRequest(port, { path: "/left" })).body, "1");
        assert.equal((await rawRequest(port, { path: "/left" })).body, "0");
      }));

    test("lets a stream flow", async () => {
      let open = () => {};
      const opened = new Promise<void>((resolve) => open = resolve);
      await serving({}, async (port) => {
        const socket = connect({ port, host: "127.0.0.1" });
        let received = "";
        await new Promise<void>((resolve, reject) => {
          socket.on("error", reject);
          socket.on("close", () => resolve());
          socket.on("data", (chunk: Uint8Array) => {
            received += new TextDecoder().decode(chunk);
            // The second part is sent only after the first has come through.
            if (received.includes("one")) open();
          });
          socket.write("GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        });
        assert.match(received, /one[^]*two/);
        assert.match(received, /^ratelimit: "api";r=1;t=6\r$/im);
      }, () => opened);
    });

    test("answers the same with a limiter that answers by promises", () =>
      serving({ limiter: asyncLimiter() }, async (port) => {
        assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
      }));

    test("passes on the error of a store that cannot be reached", () =>
      serving({ limiter: failingLimiter(), ...quiet }, async (port) => {
        assert.deepEqual(await statuses(port, 1), [500]);
      }));

    test("answers 503 where the store cannot decide, and tells why; nobody is refused in shadow", async () => {
      for (const rejects of [true, false]) {
        const failures: unknown[] = [];
        const onFailure: AnyOptions["onFailure"] = (error) => failures.push(error);
        const unavailable = unavailableLimiter(rejects);
        await serving({ limiter: unavailable, onFailure }, async (port) => {
          const answer = await rawRequest(port, { path: "/text" });
          assert.equal(answer.status, 503);
          assert.deepEqual(answer.values("content-type"), ["application/problem+json"]);
          assert.deepEqual(answer.values("cache-control"), ["no-store"]);
          assert.equal(JSON.parse(answer.body).status, 503);
        });
        assert.ok(failures.length === 1 && failures[0] instanceof StoreUnavailableError);
        await serving({ limiter: unavailable, onFailure, shadow: true }, async (port) => {
          assert.deepEqual(await statuses(port, 2), [200, 200]);
        });
        assert.equal(failures.length, 3);
      }
    });

    test("answers 400 to a request without a key, and goes on", () => {
      let key: string | undefined = "";
      return serving({ key: () => key, unknownAddress: undefined }, async (port) => {
        const answer = await rawRequest(port, { path: "/text" });
        assert.equal(answer.status, 400);
        assert.deepEqual(answer.values("content-type"), ["application/problem+json"]);
        key = undefined;
        assert.deepEqual(await statuses(port, 1), [400]);
        key = "\ud800";
        assert.deepEqual(await statuses(port, 1), [400]);
        key = "k".repeat(1_025);
        assert.deepEqual(await statuses(port, 1), [431]);
        key = "one";
        assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
      });
    });

    test("passes on what an option's function throws, at once or later, and goes on", () => {
      let fault: "throws" | "rejects" | undefined = "throws";
      const key = (): string | Promise<string> => {
        if (fault === "throws") throw new Error("no key");
        return fault === "rejects" ? Promise.reject(new Error("no key")) : "one";
      };
      return serving({ key, ...quiet }, async (port) => {
        assert.deepEqual(await statuses(port, 2), [500, 500]);
        fault = "rejects";
        assert.deepEqual(await statuses(port, 2), [500, 500]);
        fault = undefined;
        assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
      });
    });

    test("answers the same where the other functions of the options fail, and goes on", async () => {
      for (const [way, fail] of Object.entries(WAYS_TO_FAIL)) {
        const failures: unknown[] = [];
        const callbacks = {
          onDecision: fail,
          partition: fail,
          refund: fail,
          respond: fail,
          shadow: fail,
        };
        const onFailure = (error: unknown) => void failures.push(error);
        await serving({ ...callbacks, onFailure }, async (port) => {
          assert.deepEqual(await statuses(port, 3), [200, 200, 429], way);
          const { values, body } = await rawRequest(port, { path: "/text" });
          assert.deepEqual(values("content-type"), ["application/problem+json"]);
          assert.equal(JSON.parse(body).status, 429);
          // A server may hear of the end of a request after its client.
          for (let tries = 0; failures.length < 16 && tries < 100; tries++) await failed();
        });
        // Each of the four calls onDecision, partition and shadow; two call refund, two respond.
        assert.deepEqual(failures, Array(16).fill(FAILURE), way);
        const printed = await printedBy(() =>
          serving({ ...callbacks, onFailure: fail }, async (port) => {
            assert.deepEqual(await statuses(port, 3), [200, 200, 429], way);
          })
        );
        assert.equal(printed.length, 1, way);
      }
    });

    test("takes key, cost and skip from the options", () =>
      serving({ key: () => "one", cost: () => Promise.resolve(2) }, async (port) => {
        assert.deepEqual(await statuses(port, 2), [200, 429]);
      }).then(() =>
        serving({ skip: () => true }, async (port) => {
          assert.deepEqual(await statuses(port, 3), [200, 200, 200]);
          assert.deepEqual((await rawRequest(port)).values("ratelimit"), []);
        })
      ));

    test("gives the units of failed requests back", () =>
      serving({ refund: "failed" }, async (port) => {
        assert.deepEqual(await statuses(port, 3, "/bad"), [400, 400, 400]);
        assert.deepEqual(await statuses(port, 3, "/throw"), [500, 500, 500]);
        assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
      }));

    test("refuses nobody in shadow mode, and tells clients nothing", async () => {
      const verdicts: boolean[] = [];
      const onDecision: AnyOptions["onDecision"] = ({ allowed }) => verdicts.push(allowed);
      await serving({ shadow: true, onDecision }, async (port) => {
        for (let call = 0; call < 3; call++) {
          const answer = await rawRequest(port, { path: "/text" });
          assert.equal(answer.status, 200);
          assert.doesNotMatch(answer.lines.join("\n"), /ratelimit|retry-after/i);
        }
      });
      assert.deepEqual(verdicts, [true, true, false]);
    });

    test("tells every policy of an all, and names the violated one", () => {
      const algorithm = all(
        gcra({ name: "burst", limit: 10, period: "1s", burst: 1 }),
        all(gcra({ name: "daily", limit: 1000, period: "1d" })),
      );
      return serving({ limiter: limiter(algorithm, { clock: () => NOW }) }, async (port) => {
        const answers = [await rawRequest(port), await rawRequest(port)];
        for (const { values } of answers) {
          assert.deepEqual(values("ratelimit-policy"), [
            '"burst";q=10;w=1, "daily";q=1000;w=86400',
          ]);
          assert.deepEqual(values("ratelimit"), ['"burst";r=0;t=1, "daily";r=999;t=87']);
        }
        const refused = answers[1]!;
        assert.deepEqual(refused.values("retry-after"), ["1"]);
        assert.deepEqual(JSON.parse(refused.body)["violated-policies"], ["burst"]);
      });
    });

    test("believes X-Forwarded-For of trusted proxies only", () =>
      serving({ trustedProxies: ["loopback"], key: undefined }, async (port) => {
        const from = (client: string) => [`X-Forwarded-For: 6.6.6.6, ${client}`];
        assert.deepEqual(await statuses(port, 3, "/text", from("192.0.2.1")), [200, 200, 429]);
        assert.deepEqual(await statuses(port, 1, "/text", from("192.0.2.2")), [200]);
      }).then(() =>
        serving({ trustedProxies: ["10.0.0.1"], key: undefined }, async (port) => {
          for (const [place, status] of [200, 200, 429].entries()) {
            const lines = [`X-Forwarded-For: 192.0.2.${place}`, `Forwarded: for=192.0.2.${place}`];
            assert.deepEqual(await statuses(port, 1, "/text", lines), [status]);
          }
        })
      ));

    test("waits out the delay of a leakyQueue", () => {
      const queue = leakyQueue({ limit: 20, period: "1s", queue: 1 });
      return serving({ limiter: limiter(queue) }, async (port) => {
        const seen = await Promise.all([1, 2, 3].map(() => rawRequest(port, { path: "/text" })));
        assert.deepEqual(seen.map(({ status }) => status).sort(), [200, 200, 429]);
      });
    });

    test("gives the place in a queue back when the client goes away", () => {
      const api = limiter(leakyQueue({ limit: 1, period: "1h", queue: 1 }));
      return serving({ limiter: api, key: () => "one" }, async (port) => {
        assert.deepEqual(await statuses(port, 1), [200]);
        const socket = connect({ port, host: "127.0.0.1" });
        socket.on("error", () => {});
        socket.write("GET /text HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        await until(() => api.peek("one", 0).remaining === 0);
        socket.destroy();
        await until(() => api.peek("one", 0).remaining === 1);
      });
    });

    test("tells the limit in several forms, and exposes the fields to other origins", () =>
      serving({ headers: ["draft-11", "legacy"], exposeHeaders: true, now: () => NOW }, async (
        port,
      ) => {
        const { values } = await rawRequest(port, { path: "/text" });
        assert.deepEqual(values("x-ratelimit-limit"), ["10"]);
        assert.deepEqual(values("x-ratelimit-remaining"), ["1"]);
        assert.deepEqual(values("x-ratelimit-reset"), ["1764000006"]);
        assert.deepEqual(values("access-control-expose-headers"), [
          "RateLimit-Policy, RateLimit, X-RateLimit-Limit, X-RateLimit-Remaining, " +
          "X-RateLimit-Reset",
        ]);
      }));

    test("refuses options that cannot be meant, when it is made", async () => {
      for (const bad of BAD_OPTIONS) {
        const given = { limiter: apiLimiter(), ...bad } as AnyOptions;
        await assert.rejects(async () => await subject.start(given, noFlow), /^(Type|Range)Error/);
      }
    });
  });
}

/** Waits for something that a server is about to do. */
async function until(done: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1_000 && !done(); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.ok(done());
}

/** node:http has no place for errors but this option. */
const quiet = { onError: () => {} };

const BAD_OPTIONS: readonly object[] = [
  { limiter: undefined },
  { limiter: {} },
  { limiter: limiter(gcra({ name: "a\r\nX: y", limit: 1, period: 1 })) },
  { headers: "draft-8" },
  { headers: ["draft-7", "draft-11"] },
  { cost: -1 },
  { cost: "1" },
  { jitter: -1 },
  { jitter: Infinity },
  { key: "ip" },
  { skip: true },
  { shadow: "yes" },
  { refund: "all" },
  { unit: "bytes" },
  { unknownAddress: "share" },
  { trustedProxies: ["everyone"] },
  { trustedProxies: "10.0.0.1" },
  { forwardedHeader: "" },
  { ipv6Prefix: 16 },
  { address: "127.0.0.1" },
];

function asyncLimiter() {
  const { algorithm } = apiLimiter();
  return limiter(algorithm, { store: asyncMemoryStore(), prefix: "p", clock: () => NOW });
}

function unavailableLimiter(rejects: boolean) {
  const { algorithm } = apiLimiter();
  const error = new StoreUnavailableError("Cannot decide as the store is away", "no");
  const run = () => {
    if (rejects) return Promise.reject(error);
    throw error;
  };
  return limiter(algorithm, { store: { ...asyncMemoryStore(), run }, prefix: "p" });
}

function failingLimiter() {
  const { algorithm } = apiLimiter();
  const store = { ...asyncMemoryStore(), run: () => Promise.reject(new Error("no store")) };
  return limiter(algorithm, { store, prefix: "p" });
}
