import assert from "node:assert/strict";
import { connect } from "node:net";

import { all, gcra, leakyQueue, limiter } from "../../mod.ts";
import {
  type AdapterTests,
  type AnyOptions,
  apiLimiter,
  NOW,
  statuses,
  typeOf,
  until,
  using,
} from "./adapter_subject.ts";
import { asyncMemoryStore } from "./async_memory_store.ts";
import { rawRequest } from "./raw_request.ts";

const ROUTES = ["/text", "/json", "/image", "/empty", "/missing", "/left", "/bad", "/throw"];

/** The answers that clients get. */
export const VERDICTS: AdapterTests = {
  "answers 200 twice, then 429, with these header lines": (app) =>
    app.serving({}, async (port) => {
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
    }),

  "leaves status, content type and body of every route as they are": (app) =>
    app.serving(undefined, (bare) =>
      app.serving({ cost: 0 }, async (port) => {
        for (const path of ROUTES) {
          const [expected, answer] = [
            await rawRequest(bare, { path }),
            await rawRequest(port, { path }),
          ];
          assert.equal(answer.status, expected.status, path);
          assert.deepEqual(typeOf(app.subject, answer), typeOf(app.subject, expected), path);
          // Some frameworks show the call stack, and make the answer where no adapter reaches.
          if (path === "/throw") continue;
          if (path !== "/left") assert.equal(answer.body, expected.body, path);
          assert.deepEqual(answer.values("ratelimit"), ['"api";r=2'], path);
        }
      })),

  "passes the handler's errors on": (app) =>
    app.serving({}, async (port) => {
      assert.deepEqual(await statuses(port, 3, "/throw"), [500, 500, 429]);
    }),

  "puts the decision on the context": (app) =>
    app.serving({}, async (port) => {
      assert.equal((await rawRequest(port, { path: "/left" })).body, "1");
      assert.equal((await rawRequest(port, { path: "/left" })).body, "0");
    }),

  "lets a stream flow": async (app) => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => open = resolve);
    await app.serving({}, async (port) => {
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
    }, { flow: () => opened });
  },

  "answers the same with a limiter that answers by promises": (app) =>
    app.serving({ limiter: asyncLimiter() }, async (port) => {
      assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
    }),

  "lets one limit stand before another, and keeps the decision if the later one skips": async (
    app,
  ) => {
    const login = gcra({ name: "login", limit: 1, period: "1m", burst: 1 });
    const second = { limiter: limiter(login, { clock: () => 0 }) };
    await app.serving([{}, second], async (port) => {
      for (const [status, left] of [[200, 1], [429, 0]] as const) {
        const { status: seen, values } = await rawRequest(port, { path: "/text" });
        assert.equal(seen, status);
        const fields = values("ratelimit").join().split(", ").sort();
        // Where limits wrap each other, the outer one's fields are not on the inner one's refusal.
        assert.deepEqual(fields, [`"api";r=${left};t=6`, '"login";r=0;t=60']);
      }
    });
    if (!app.subject.keepsDecision) return;
    await app.serving([{}, { skip: () => true }], async (port) => {
      assert.equal((await rawRequest(port, { path: "/left" })).body, "1");
    });
  },
};

/** The effects of the options. */
export const OPTIONS: AdapterTests = {
  "gives the units of failed requests back": (app) =>
    app.serving({ refund: "failed" }, async (port) => {
      assert.deepEqual(await statuses(port, 3, "/bad"), [400, 400, 400]);
      assert.deepEqual(await statuses(port, 3, "/throw"), [500, 500, 500]);
      assert.deepEqual(await statuses(port, 3), [200, 200, 429]);
    }),

  "lets respond and refund answer by promises, and shows them request and response": async (
    app,
  ) => {
    const subjects: unknown[] = [];
    const later = <Value>(value: Value) => new Promise<Value>((keep) => setTimeout(keep, 1, value));
    const respond: AnyOptions["respond"] = ({ body }, { limit }, request) => {
      subjects.push(request ?? "no request");
      return later({ status: 418, body: `${limit} ${body.length > 0}` });
    };
    const refund: AnyOptions["refund"] = ({ status, response }, request, info) => {
      const shown = response ?? info ?? (app.subject.hidesResponses ? {} : "no response");
      subjects.push(request ?? "no request", shown);
      return later(status === 400);
    };
    await app.serving({ respond, refund, key: () => "one" }, async (port) => {
      for (let call = 0; call < 4; call++) {
        assert.deepEqual(await statuses(port, 1, "/bad"), [400]);
        await until(() => subjects.length === 2 * (call + 1));
        await later(0);
      }
      assert.deepEqual(await statuses(port, 2), [200, 200]);
      const { status, body } = await rawRequest(port, { path: "/text" });
      assert.deepEqual([status, body], [418, "10 true"]);
    });
    assert.deepEqual(subjects.filter((subject) => typeof subject === "string"), []);
  },

  "believes X-Forwarded-For of trusted proxies only": (app) =>
    app.serving({ trustedProxies: ["loopback"], key: undefined }, async (port) => {
      const from = (client: string) => [`X-Forwarded-For: 6.6.6.6, ${client}`];
      assert.deepEqual(await statuses(port, 3, "/text", from("192.0.2.1")), [200, 200, 429]);
      assert.deepEqual(await statuses(port, 1, "/text", from("192.0.2.2")), [200]);
    }).then(() =>
      app.serving({ trustedProxies: ["10.0.0.1"], key: undefined }, async (port) => {
        for (const [index, status] of [200, 200, 429].entries()) {
          const lines = [`X-Forwarded-For: 192.0.2.${index}`, `Forwarded: for=192.0.2.${index}`];
          assert.deepEqual(await statuses(port, 1, "/text", lines), [status]);
        }
      })
    ),

  "gives the place in a queue back when the client goes away": (app) => {
    const api = limiter(leakyQueue({ limit: 1, period: "1h", queue: 1 }));
    return app.serving({ limiter: api, key: () => "one" }, async (port) => {
      assert.deepEqual(await statuses(port, 1), [200]);
      const socket = connect({ port, host: "127.0.0.1" });
      socket.on("error", () => {});
      socket.write("GET /text HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
      await until(() => api.peek("one", 0).remaining === 0);
      socket.destroy();
      await until(() => api.peek("one", 0).remaining === 1);
    });
  },

  "lets onRefused answer, throw into the framework's own error path, or leave the answer": async (
    app,
  ) => {
    const thrown = () => {
      throw new Error("refused");
    };
    // deno-lint-ignore no-explicit-any
    function answers(_refusal: unknown, _request: unknown, info: any): unknown {
      if (typeof info?.code === "function") return info.code(418).send("no");
      if (typeof info?.end !== "function") return new Response("no", { status: 418 });
      info.statusCode = 418;
      return void info.end("no");
    }
    const rejected = () => Promise.reject(new Error("refused"));
    const cases = [[thrown, 500], [rejected, 500], [answers, 418], [() => {}, 429]] as const;
    for (const [onRefused, status] of cases) {
      await app.serving({ cost: 3, onRefused } as object, async (port) => {
        const answer = await rawRequest(port, { path: "/text" });
        assert.equal(answer.status, status);
        if (status === 418) assert.equal(answer.body, "no");
        if (status === 500 && app.subject.losesFields) return;
        assert.deepEqual(answer.values("ratelimit"), ['"api";r=2']);
      });
    }
  },

  "takes the client's address as the framework's own setting says": async ({ subject }) => {
    const server = await subject.startTrusting?.({ limiter: apiLimiter() });
    if (server === undefined) return;
    const { warn } = console;
    // A proxy that the framework trusts is not ignored, so nothing warns.
    console.warn = (line: unknown) => assert.fail(String(line));
    await using(server, async (port) => {
      for (const [client, status] of [[1, 200], [1, 200], [1, 429], [2, 200]] as const) {
        const lines = [`X-Forwarded-For: 192.0.2.${client}`];
        assert.deepEqual(await statuses(port, 1, "/", lines), [status]);
      }
    }).finally(() => console.warn = warn);
  },
};

/** Verdicts that are the same behind every adapter. */
export const GATE_VERDICTS: AdapterTests = {
  "says nothing about the limit in header fields where headers is false": (app) =>
    app.serving({ headers: false, cost: 2, exposeHeaders: true }, async (port) => {
      for (const status of [200, 429]) {
        const answer = await rawRequest(port, { path: "/text" });
        assert.equal(answer.status, status);
        for (const name of ["ratelimit", "ratelimit-policy", "retry-after"]) {
          assert.deepEqual(answer.values(name), [], name);
        }
        assert.deepEqual(answer.values("access-control-expose-headers"), []);
        assert.deepEqual(answer.values("cache-control"), status === 429 ? ["no-store"] : []);
      }
    }),

  "writes every policy of an all, and names the violated one": (app) => {
    const algorithm = all(
      gcra({ name: "burst", limit: 10, period: "1s", burst: 1 }),
      all(gcra({ name: "daily", limit: 1000, period: "1d", burst: 1000 })),
    );
    return app.serving({ limiter: limiter(algorithm, { clock: () => NOW }) }, async (port) => {
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
  },

  "writes the limit in several forms, and exposes the fields to other origins": (app) =>
    app.serving({ headers: ["draft-11", "legacy"], exposeHeaders: true }, async (
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
    }),
};

function asyncLimiter() {
  const { algorithm } = apiLimiter();
  return limiter(algorithm, { store: asyncMemoryStore(), prefix: "p", clock: () => NOW });
}
