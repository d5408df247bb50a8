import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { limitHandler } from "../../../../adapters/http/http.ts";
import { concurrency, gcra, limiter } from "../../../../mod.ts";
import { apiLimiter } from "../../../support/adapter_behaviour.ts";
import { using } from "../../../support/adapter_subject.ts";
import { rawRequest } from "../../../support/raw_request.ts";
import { runtime } from "../../../support/runtime.ts";
import { serveFetch } from "../../../support/serve_fetch.ts";
import { serveNode } from "../../../support/serve_node.ts";

const key = () => "one";
const request = new Request("http://a.test/");

describe("a handler's response", () => {
  test("that was fetched gets the fields on a copy, which keeps type, status and body", async () => {
    const origin = await serveFetch(() =>
      new Response("<p>hello</p>", {
        status: 201,
        headers: { "Content-Type": "text/html", "X-Other": "1", "Connection": "close" },
      })
    );
    const limited = limitHandler({ limiter: apiLimiter(), key });
    const handler = limited(() => fetch(`http://127.0.0.1:${origin.port}/`));
    await using(await serveFetch(handler), async (port) => {
      const { status, values, body } = await rawRequest(port);
      assert.equal(status, 201);
      assert.equal(body, "<p>hello</p>");
      assert.deepEqual(values("content-type"), ["text/html"]);
      assert.deepEqual(values("x-other"), ["1"]);
      assert.deepEqual(values("ratelimit"), ['"api";r=1;t=6']);
    }).finally(origin.close);
  });

  for (const [encoding, encode] of [["gzip", gzipSync], ["br", brotliCompressSync]] as const) {
    test(`that was fetched and decoded from ${encoding} does not claim to be so still`, async () => {
      const origin = await serveNode((_request, response) => {
        response.writeHead(200, {
          "Content-Encoding": encoding,
          "X-Other": "1",
          Connection: "close",
        });
        response.end(encode("hello ".repeat(100)));
      });
      const handler = () => fetch(`http://127.0.0.1:${origin.port}/`);
      const limited = limitHandler({ limiter: apiLimiter(), key })(handler);
      await using(await serveFetch(limited), async (port) => {
        const { values, body } = await rawRequest(port);
        assert.equal(body, "hello ".repeat(100));
        assert.deepEqual(values("x-other"), ["1"]);
        assert.deepEqual(values("ratelimit"), ['"api";r=1;t=6']);
        // Bun's own server claims it, with or without a limit.
        await using(await serveFetch(handler), async (bare) => {
          const untold = runtime() === "bun"
            ? (await rawRequest(bare)).values("content-encoding")
            : [];
          assert.deepEqual(values("content-encoding"), untold);
        });
      }).finally(origin.close);
    });
  }

  test("that is given again and again holds the fields once", async () => {
    const same = new Response(null, { status: 204 });
    const limited = limitHandler({ limiter: apiLimiter(), key, exposeHeaders: true })(() => same);
    for (const left of [1, 0]) {
      const { headers } = await limited(request);
      assert.equal(headers.get("ratelimit"), `"api";r=${left};t=6`);
      assert.equal(headers.get("ratelimit-policy"), '"api";q=10;w=60');
      assert.equal(headers.get("access-control-expose-headers"), "RateLimit-Policy, RateLimit");
    }
  });

  test("whose body fails gives its permit back", async () => {
    const jobs = limiter(concurrency({ limit: 1, ttl: "1m" }));
    const left = () => jobs.peek("one", 0).remaining;
    const limited = limitHandler({ limiter: jobs, key })(() => {
      const body = new ReadableStream({ pull: (stream) => stream.error(new Error("gone")) });
      return new Response(body, { headers: { "Content-Type": "text/plain" } });
    });
    const response = await limited(request);
    assert.equal(left(), 0);
    await assert.rejects(response.text(), /gone/);
    assert.equal(left(), 1);
  });

  test("of two limits has both", async () => {
    const other = gcra({ name: 'other, "quoted"', limit: 1, period: "1h", burst: 1 });
    const inner = limitHandler({ limiter: limiter(other, { clock: () => 0 }), key });
    const outer = limitHandler({ limiter: apiLimiter(), key });
    const limited = outer(inner(() => new Response("hello")));
    const admitted = await limited(request);
    const fields = (
      { headers }: Response,
    ) => [headers.get("ratelimit-policy"), headers.get("ratelimit")];
    assert.deepEqual(fields(admitted), [
      '"other, \\"quoted\\"";q=1;w=3600, "api";q=10;w=60',
      '"other, \\"quoted\\"";r=0;t=3600, "api";r=1;t=6',
    ]);
    const refused = await limited(request);
    assert.equal(refused.status, 429);
    assert.deepEqual(fields(refused)[1], '"other, \\"quoted\\"";r=0;t=3600, "api";r=0;t=6');
  });

  test("of two limits whose policies have numbers and no names has both", async () => {
    const headers = "draft-7";
    const hourly = limiter(gcra({ limit: 10, period: "1h", burst: 10 }));
    const inner = limitHandler({ limiter: hourly, key, headers });
    const outer = limitHandler({ limiter: apiLimiter(), key, headers });
    const limited = outer(inner(() => new Response("hello")));
    assert.equal((await limited(request)).headers.get("ratelimit-policy"), "10;w=3600, 10;w=60");
  });

  test("of an error stays one", async () => {
    const limited = limitHandler({ limiter: apiLimiter(), key });
    const failing = limited(() => Promise.reject(new Error("boom")));
    await assert.rejects(async () => await failing(request), /boom/);
    assert.throws(() =>
      limited(() => {
        throw new Error("boom");
      })(request), /boom/);
  });

  test("comes at once if all that is asked answers at once", () => {
    const limited = limitHandler({ limiter: apiLimiter(), key });
    assert.ok(limited(() => new Response("hello"))(request) instanceof Response);
  });
});
