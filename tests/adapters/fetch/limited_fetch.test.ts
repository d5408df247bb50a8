import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { limitedFetch, type LimitedFetchOptions } from "../../../adapters/fetch.ts";
import { gcra, limiter, RateLimitedError } from "../../../mod.ts";
import { serveFetch } from "../../support/serve_fetch.ts";
import { testClock } from "../../support/test_clock.ts";

/** A server whose answers are given one after the other; the last one again and again. */
async function answering(
  answers: readonly (() => Response)[],
  use: (
    url: string,
    requests: { readonly method: string; readonly body: string }[],
  ) => Promise<void>,
): Promise<void> {
  const requests: { method: string; body: string }[] = [];
  const server = await serveFetch(async (request) => {
    requests.push({ method: request.method, body: await request.text() });
    return answers[Math.min(requests.length, answers.length) - 1]!();
  });
  try {
    await use(`http://127.0.0.1:${server.port}/`, requests);
  } finally {
    await server.close();
  }
}

const ok = () => new Response("ok");
const refusal = (headers: Record<string, string>, status = 429) => () =>
  new Response("later", { status, headers });

/** A limited fetch on a clock of its own, that tells of its waits. */
function limited(options: LimitedFetchOptions = {}) {
  const clock = testClock();
  const waits: number[] = [];
  const fetch = limitedFetch({
    clock,
    random: () => 0.5,
    onRetry: ({ wait }) => waits.push(wait),
    ...options,
  });
  /** Lets time pass until the call has ended. */
  async function ended<Value>(call: Promise<Value>): Promise<Value> {
    let over = false;
    const done = () => over = true;
    call.then(done, done);
    while (!over) await clock.advance(clock.waiting() > 0 ? 500 : 0);
    return await call;
  }
  return { fetch, clock, waits, ended };
}

describe("limitedFetch", () => {
  test("waits as long as Retry-After says, and a little, and sends the request again", () =>
    answering([refusal({ "Retry-After": "7" }), ok], async (url, requests) => {
      const { fetch, waits, ended } = limited();
      const response = await ended(fetch(url, { method: "POST", body: "hello" }));
      assert.equal(await response.text(), "ok");
      assert.deepEqual(waits, [7_500]);
      assert.deepEqual(requests, [
        { method: "POST", body: "hello" },
        { method: "POST", body: "hello" },
      ]);
    }));

  test("sends a Request's body again", () =>
    answering([refusal({ "Retry-After": "1" }), ok], async (url, requests) => {
      const { fetch, ended } = limited();
      await (await ended(fetch(new Request(url, { method: "PUT", body: "hello" })))).text();
      assert.deepEqual(requests.map(({ body }) => body), ["hello", "hello"]);
    }));

  test("reads RateLimit and vendor's fields where there is no Retry-After", async () => {
    const fields: [Record<string, string>, number][] = [
      [{ RateLimit: '"a";r=0;t=3, "b";r=5;t=60' }, 3_500],
      [{ RateLimit: "limit=1, remaining=0, reset=4" }, 4_500],
      [{ "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1764000005" }, 5_500],
    ];
    for (const [headers, wait] of fields) {
      await answering([refusal(headers), ok], async (url) => {
        const { fetch, waits, ended } = limited();
        assert.equal((await ended(fetch(url))).status, 200);
        assert.deepEqual(waits, [wait]);
      });
    }
  });

  test("doubles its waits where the server does not say", () =>
    answering([refusal({}), refusal({}), refusal({}), ok], async (url) => {
      const { fetch, waits, ended } = limited();
      assert.equal((await ended(fetch(url))).status, 200);
      assert.deepEqual(waits, [1_500, 2_500, 4_500]);
    }));

  test("gives the refusal to the caller after so many retries, or where the wait is too long", () =>
    answering([refusal({ "Retry-After": "1" })], async (url, requests) => {
      const { fetch, ended } = limited({ retries: 2 });
      const response = await ended(fetch(url));
      assert.equal(response.status, 429);
      assert.equal(await response.text(), "later");
      assert.equal(requests.length, 3);
      const impatient = limited({ maxWait: 500 });
      assert.equal((await impatient.ended(impatient.fetch(url))).status, 429);
      assert.equal(requests.length, 4);
    }));

  test("keeps within the budget of retries", () =>
    answering([refusal({ "Retry-After": "0" })], async (url, requests) => {
      const budget = limiter(gcra({ limit: 2, period: "1d" }), { clock: () => 0 });
      const { fetch, ended } = limited({ budget, retries: 10 });
      assert.equal((await ended(fetch(url))).status, 429);
      assert.equal(requests.length, 3);
    }));

  test("repeats after a 503 only what may be repeated, and only if asked to come back", () =>
    answering([refusal({ "Retry-After": "0" }, 503)], async (url, requests) => {
      const { fetch, ended } = limited({ retries: 1 });
      await ended(fetch(url, { method: "POST" }));
      assert.equal(requests.length, 1);
      await ended(fetch(url, { method: "DELETE" }));
      assert.equal(requests.length, 3);
    }).then(() =>
      answering([refusal({}, 503)], async (url, requests) => {
        const { fetch, ended } = limited();
        assert.equal((await ended(fetch(url))).status, 503);
        assert.equal(requests.length, 1);
      })
    ));

  test("sends a stream once only", async () => {
    let sent = 0;
    const { fetch } = limited({
      fetch: () => Promise.resolve(refusal({ "Retry-After": "0" })()).finally(() => sent++),
    });
    const body = new ReadableStream();
    assert.equal((await fetch("http://a.test/", { method: "POST", body })).status, 429);
    assert.equal(sent, 1);
  });

  test("pauses when the server says that nothing is left, before it must refuse", () => {
    const last = () => new Response("ok", { headers: { RateLimit: '"a";r=0;t=30' } });
    return answering([last, ok], async (url, requests) => {
      const { fetch, clock } = limited();
      await (await fetch(url)).text();
      const second = fetch(url);
      await clock.advance(29_999);
      assert.equal(requests.length, 1);
      await clock.advance(1);
      await (await second).text();
      assert.equal(requests.length, 2);
    });
  });

  test("rejects rather than wait for longer than maxWait before it sends", () => {
    const last = () => new Response("ok", { headers: { RateLimit: '"a";r=0;t=30' } });
    return answering([last], async (url) => {
      const { fetch } = limited({ maxWait: 10_000 });
      await (await fetch(url)).text();
      await assert.rejects(
        fetch(url),
        (error) => error instanceof RateLimitedError && error.decision.retryAfter === 30_000,
      );
      await assert.rejects(fetch(url), /^RateLimitedError: Cannot fetch from "127/);
    });
  });

  test("keeps below the limiter's rate, host by host", async () => {
    const clock = testClock();
    const api = limiter(gcra({ limit: 1, period: "1s" }), { clock });
    const sent: [string, number][] = [];
    const start = clock();
    const fetch = limitedFetch({
      limiter: api,
      clock,
      fetch: (input) => {
        sent.push([new URL(String(input)).host, clock() - start]);
        return Promise.resolve(ok());
      },
    });
    const calls = ["a", "a", "b", "a"].map((host) => fetch(`http://${host}.test/`));
    await clock.advance(10_000);
    await Promise.all(calls);
    assert.deepEqual(sent.sort(), [
      ["a.test", 0],
      ["a.test", 1_000],
      ["a.test", 2_000],
      ["b.test", 0],
    ]);
  });

  test("ends its waits when the signal is aborted", () =>
    answering([refusal({ "Retry-After": "7" })], async (url) => {
      const { fetch, clock } = limited();
      const controller = new AbortController();
      const call = fetch(url, { signal: controller.signal });
      const rejected = assert.rejects(call, /enough/);
      while (clock.waiting() === 0) await clock.advance(0);
      controller.abort(new Error("enough"));
      await rejected;
      assert.equal(clock.waiting(), 0);
    }));

  test("passes on what is no refusal, errors above all", async () => {
    const failing = limitedFetch({ fetch: () => Promise.reject(new TypeError("no network")) });
    await assert.rejects(failing("http://a.test/"), /no network/);
    await answering([() => new Response("no", { status: 404 })], async (url) => {
      assert.equal((await limitedFetch()(new URL(url))).status, 404);
    });
  });

  test("refuses options that cannot be meant", () => {
    for (const bad of [{ retries: -1 }, { maxWait: NaN }, { cost: 0.5 }, { clock: 5 }, 7, null]) {
      assert.throws(() => limitedFetch(bad as never), /^(Type|Range)Error/);
    }
  });
});
