import fc from "fast-check";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  limitedFetch,
  type LimitedFetchOptions,
} from "../../../adapters/outbound/limited_fetch.ts";
import { serverPauses } from "../../../adapters/outbound/server_pauses.ts";
import {
  gcra,
  leakyQueue,
  limiter,
  RateLimitedError,
  StoreUnavailableError,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { policyStore } from "../../support/policy_store.ts";
import { fcOptions } from "../../support/seed.ts";
import { serveFetch } from "../../support/serve_fetch.ts";
import { testClock } from "../../support/test_clock.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";

/** A server that gives these answers one after the other, and then repeats the last one. */
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
/** An answer after which nothing is left for half a minute. */
const used = () => new Response("ok", { headers: { RateLimit: '"a";r=0;t=30' } });
const refusal = (headers: Record<string, string>, status = 429) => () =>
  new Response("later", { status, headers });

/** A refusal that names that many seconds to wait. */
const later = (seconds: number, status?: number) =>
  refusal({ "Retry-After": `${seconds}` }, status);
const wordless = refusal({});

/** A limited fetch on a clock of its own, that records its waits. */
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
  const rate = gcra({ limit: 2, period: "1d", burst: 2 });
  const budget = limiter(rate, { clock: () => 0 });
  const away = () => Promise.reject(new StoreUnavailableError("Cannot reach Redis", "no"));
  const store = interceptedStore(asyncMemoryStore(), away);
  const lost = limiter(rate, { store, prefix: "retries" });
  const remaining = "limit=1, remaining=0, reset=4";
  const vendor = { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1764000005" };
  const POST = { method: "POST", body: "hello" };
  const DELETE = { method: "DELETE" };
  /** The server's answers, the options and `init`; then the caller's status, and the waits. */
  const calls: Readonly<
    Record<string, [(() => Response)[], LimitedFetchOptions, RequestInit, number, number[]]>
  > = {
    "Retry-After, and a little": [[later(7), ok], {}, POST, 200, [7_500]],
    RateLimit: [[refusal({ RateLimit: '"a";r=0;t=3, "b";r=5;t=60' }), ok], {}, {}, 200, [3_500]],
    "an old RateLimit": [[refusal({ RateLimit: remaining }), ok], {}, {}, 200, [4_500]],
    "a vendor's fields": [[refusal(vendor), ok], {}, {}, 200, [5_500]],
    "nothing, with waits that double": [[wordless, wordless, ok], {}, {}, 200, [1_500, 2_500]],
    "so many retries": [[later(1)], { retries: 2 }, {}, 429, [1_500, 1_500]],
    "a wait that is too long": [[later(1)], { maxWait: 500 }, {}, 429, []],
    "the budget of retries": [[later(0)], { budget, retries: 10 }, {}, 429, [0, 2_500]],
    "a budget that cannot decide": [[later(0)], { budget: lost }, {}, 429, []],
    "a 503 to what may not be repeated": [[later(0, 503)], { retries: 1 }, POST, 503, []],
    "a 503 to what may be repeated": [[later(0, 503)], { retries: 1 }, DELETE, 503, [0]],
    "a 503 that does not ask to come back": [[refusal({}, 503)], {}, {}, 503, []],
    "another answer": [[refusal({}, 404)], {}, {}, 404, []],
  };
  for (const [what, [answers, options, init, status, expected]] of Object.entries(calls)) {
    test(`sends a request again as it should: ${what}`, () =>
      answering(answers, async (url, requests) => {
        const { fetch, waits, ended } = limited(options);
        const response = await ended(fetch(url, init));
        assert.deepEqual([response.status, waits], [status, expected]);
        assert.equal(await response.text(), status === 200 ? "ok" : "later");
        const { method = "GET", body = "" } = init;
        assert.deepEqual(requests, Array(expected.length + 1).fill({ method, body }));
      }));
  }

  test("sends every body again that is a value", async () => {
    const form = new FormData();
    form.set("a", "hello");
    const bytes = new TextEncoder().encode("hello");
    const bodies: [BodyInit, RegExp][] = [
      ["hello", /^hello$/],
      [bytes, /^hello$/],
      [bytes.buffer, /^hello$/],
      [new DataView(bytes.buffer, 1, 2), /^el$/],
      [new Blob(["hello"]), /^hello$/],
      [new URLSearchParams({ a: "hello" }), /^a=hello$/],
      [form, /name="a"\r\n\r\nhello/],
    ];
    for (const [body, expected] of bodies) {
      await answering([later(1), ok], async (url, requests) => {
        const { fetch, ended } = limited();
        assert.equal((await ended(fetch(url, { method: "POST", body }))).status, 200);
        assert.equal(requests.length, 2);
        for (const { body } of requests) assert.match(body, expected);
      });
    }
  });

  test("sends a Request again that has no body, and one with a body once, uncopied", () =>
    answering([later(1)], async (url, requests) => {
      const { fetch, ended } = limited({ retries: 1 });
      const uncopied = (init: RequestInit) =>
        Object.assign(new Request(url, init), {
          clone: () => assert.fail("a copy keeps all of an upload in memory"),
        });
      assert.equal((await ended(fetch(uncopied({ method: "DELETE" })))).status, 429);
      assert.equal(requests.length, 2);
      const put = uncopied({ method: "PUT", body: "hello" });
      assert.equal((await ended(fetch(put))).status, 429);
      assert.deepEqual(requests.slice(2), [{ method: "PUT", body: "hello" }]);
      await ended(fetch(uncopied({ method: "PUT", body: "old" }), { body: "new" }));
      assert.deepEqual(requests.slice(3).map(({ body }) => body), ["new", "new"]);
    }));

  test("sends a body once that is used up by it", async () => {
    async function* chunks() {
      yield new TextEncoder().encode("hello");
    }
    const once = { [Symbol.asyncIterator]: chunks };
    for (const body of [new ReadableStream(), chunks(), once, { pipe() {} }]) {
      let sent = 0;
      const { fetch } = limited({
        fetch: () => Promise.resolve(later(0)()).finally(() => sent++),
      });
      const init = { method: "POST", body: body as BodyInit, duplex: "half" };
      assert.equal((await fetch("http://a.test/", init)).status, 429);
      assert.equal(sent, 1);
    }
  });

  test("does not repeat a POST that was taken, and answered by another server's refusal", () =>
    answering([later(0)], (busy, refused) => {
      const elsewhere = () => new Response(null, { status: 303, headers: { Location: busy } });
      return answering([elsewhere], async (url, requests) => {
        const { fetch, ended } = limited({ retries: 1 });
        assert.equal((await ended(fetch(url, { method: "POST", body: "order" }))).status, 429);
        assert.equal(requests.length, 1);
        assert.equal((await ended(fetch(url))).status, 429);
        assert.deepEqual([requests.length, refused.length], [3, 3]);
      });
    }));

  test("reads the answer of, and pauses, the last host of a redirect", () =>
    answering([later(30), ok], (busy, refused) => {
      const elsewhere = () => new Response(null, { status: 302, headers: { Location: busy } });
      return answering([elsewhere, ok], async (url, requests) => {
        const keys: string[] = [];
        const { fetch, clock, ended } = limited({
          retries: 1,
          onRetry: ({ key }) => keys.push(key),
        });
        const redirected = fetch(url);
        while (clock.waiting() === 0) await clock.advance(0);
        assert.equal(await (await fetch(url)).text(), "ok", "the first host is not paused");
        const paused = fetch(busy);
        await clock.advance(29_999);
        assert.deepEqual([requests.length, refused.length], [2, 1]);
        assert.equal((await ended(paused)).status, 200);
        assert.equal((await ended(redirected)).status, 200);
        assert.deepEqual(keys, [new URL(busy).host]);
      });
    }));

  test("is paused by no server for longer than maxPause", () =>
    answering([later(9_999_999_999), ok], async (url, requests) => {
      const { fetch, clock } = limited({ maxWait: Infinity });
      assert.equal((await fetch(url)).status, 429, "the caller gets what cannot be waited out");
      const next = fetch(url);
      await clock.advance(3_599_999);
      assert.equal(requests.length, 1);
      await clock.advance(1);
      assert.equal((await next).status, 200);
    }).then(() =>
      answering(
        [() => new Response("ok", { headers: { RateLimit: '"a";r=0;t=999999999' } }), ok],
        async (url) => {
          const { fetch, clock } = limited({ maxPause: 5_000, maxWait: 4_000 });
          await (await fetch(url)).text();
          await assert.rejects(
            fetch(url),
            (error) =>
              error instanceof RateLimitedError && error.decision.retryAfter === 5_000 &&
              error.message.startsWith('Cannot fetch from "127'),
          );
          await clock.advance(1_000);
          const next = fetch(url);
          await clock.advance(4_000);
          assert.equal((await next).status, 200);
        },
      )
    ));

  test("sends nothing into a pause that began while it stood in line, and gives its units back", () => {
    const clock = testClock();
    const api = limiter(gcra({ limit: 1, period: "1s", burst: 1 }), { clock });
    return answering([used, ok], async (url, requests) => {
      const { fetch } = limited({ limiter: api, clock });
      const calls = [fetch(url), fetch(url), fetch(url)];
      await (await calls[0]!).text();
      await clock.advance(1_000);
      assert.equal(api.peek(new URL(url).host, 0).remaining, 1, "the second call's turn");
      await clock.advance(28_000);
      assert.equal(requests.length, 1);
      await clock.advance(1_000);
      assert.equal((await calls[1]!).status, 200);
      assert.equal(requests.length, 2, "one a second, as before");
      await clock.advance(1_000);
      assert.equal((await calls[2]!).status, 200);
    });
  });

  test("keeps below the limiter's rate, host by host", async () => {
    const clock = testClock();
    const api = limiter(gcra({ limit: 1, period: "1s", burst: 1 }), { clock });
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

  test("pauses for as long as it was asked to, though the clock steps back", async () => {
    let now = 1_790_000_000_000;
    const answers = [refusal({ "Retry-After-Ms": "20" }), ok];
    const fetch = limitedFetch({
      clock: () => now,
      random: () => 0,
      maxWait: 60,
      fetch: () => {
        now -= 3_600_000;
        return Promise.resolve(answers.shift()!());
      },
      onRetry: () => now -= 3_600_000,
    });
    assert.equal((await fetch("http://a.test/")).status, 200);
  });

  test("takes nothing where the signal is aborted in the pause or in the limiter's line", () => {
    return answering([used], async (url, requests) => {
      const host = new URL(url).host;
      const clock = testClock();
      const api = limiter(gcra({ limit: 1, period: "1s", burst: 1 }), { clock });
      const { fetch } = limited({ limiter: api, clock });
      const controller = new AbortController();
      const { signal } = controller;
      await (await fetch(url)).text();
      await clock.advance(1_000);
      api.consume(host);
      const paused = assert.rejects(fetch(url, { signal }), /enough/);
      const inLine = assert.rejects(
        limited({ limiter: api, clock }).fetch(url, { signal }),
        /enough/,
      );
      await clock.advance(10);
      controller.abort(new Error("enough"));
      await Promise.all([paused, inLine]);
      assert.equal(clock.waiting(), 0);
      await clock.advance(1_000);
      assert.equal(api.peek(host, 0).remaining, 1);
      assert.equal(requests.length, 1);
    });
  });

  test("gives the units back if the abort meets the admission", async () => {
    const clock = testClock();
    const api = limiter(gcra({ limit: 1, period: "1s", burst: 1 }), { clock });
    const { fetch } = limited({ limiter: api, clock, fetch: () => assert.fail("not sent") });
    const controller = new AbortController();
    const call = fetch("http://a.test/", { signal: controller.signal });
    controller.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
    assert.equal(api.peek("a.test", 0).remaining, 1);
  });

  test("gives no place back that others may wait behind, whatever the algorithm's name", async () => {
    const clock = testClock();
    const queue = leakyQueue({ limit: 1, period: "1s", queue: 3 });
    const controller = new AbortController();
    const onDecision = () => controller.abort(new Error("enough"));
    const own = { ...queue, id: "own", internals: undefined };
    const api = limiter(own, { clock, onDecision });
    const { fetch } = limited({ limiter: api, clock, fetch: () => assert.fail("sent") });
    await assert.rejects(fetch("http://a.test/", { signal: controller.signal }), /enough/);
    assert.equal(api.peek("a.test", 0).remaining, queue.capacity - 1);
  });

  test("gives nothing back if a failure policy admitted the call", async () => {
    const { store, costs } = policyStore();
    const controller = new AbortController();
    const onDecision = () => controller.abort(new Error("enough"));
    const options = { store, prefix: "api", onDecision };
    const api = limiter(gcra({ limit: 1, period: "1s", burst: 1 }), options);
    const { fetch } = limited({ limiter: api, fetch: () => assert.fail("sent") });
    await assert.rejects(fetch("http://a.test/", { signal: controller.signal }), /enough/);
    assert.deepEqual(costs, [1]);
  });

  test("obeys the signal of a Request, unless init takes it away", async () => {
    const controller = new AbortController();
    const request = () => new Request("http://a.test/", { signal: controller.signal });
    const sleeping = async (init?: RequestInit) => {
      const answers = [later(5), ok];
      const { fetch, clock, ended } = limited({ fetch: () => Promise.resolve(answers.shift()!()) });
      const call = fetch(request(), init);
      await clock.advance(0);
      assert.equal(clock.waiting(), 1);
      return { clock, ended: () => ended(call) };
    };
    const attached = await sleeping();
    const detached = await sleeping({ signal: null });
    controller.abort(new Error("enough"));
    await assert.rejects(attached.ended(), /enough/);
    assert.equal(attached.clock.waiting(), 0);
    assert.equal((await detached.ended()).status, 200);
  });

  test("passes on errors, and takes a URL", async () => {
    const failing = limitedFetch({ fetch: () => Promise.reject(new TypeError("no network")) });
    await assert.rejects(failing("http://a.test/"), /no network/);
    await answering([ok], async (url) => {
      assert.equal((await limitedFetch()(new URL(url))).status, 200);
    });
  });

  test("sends nothing for a key that is no text", async () => {
    for (const key of ["", undefined, 5]) {
      let sent = 0;
      const fetch = limitedFetch({
        key: () => key as string,
        fetch: () => Promise.resolve(refusal({})()).finally(() => sent++),
      });
      await assert.rejects(fetch("http://a.test/"), /^TypeError: Cannot fetch as key must be/);
      assert.equal(sent, 0);
    }
  });

  test("refuses options that cannot be meant", () => {
    const bad = [
      ...[{ retries: -1 }, { maxWait: NaN }, { cost: 0.5 }, { clock: 5 }, 7, null],
      ...[{ maxPause: -1 }, { maxPause: "an hour" }, { limiter: {} }, { budget: () => true }],
      ...[{ key: "host" }, { random: 0.5 }, { onRetry: true }, { fetch: null }, { limiter: null }],
    ];
    for (const options of bad) {
      assert.throws(() => limitedFetch(options as never), /^(Type|Range)Error: Cannot create/);
    }
  });
});

describe("tenants of one server", () => {
  const tenants: Readonly<Record<string, LimitedFetchOptions>> = {
    "by their credentials, without being asked to": {},
    "by a key that sees the whole request": {
      key: ({ host }, { method, headers }) => `${host} ${method} ${headers.get("authorization")}`,
    },
  };
  for (const [how, options] of Object.entries(tenants)) {
    test(`are paused apart, ${how}`, async () => {
      const sent: string[] = [];
      const { fetch, clock } = limited({
        ...options,
        fetch: (input, init) => {
          const headers = new Headers(input instanceof Request ? input.headers : init?.headers);
          sent.push(headers.get("authorization")!);
          return Promise.resolve(used());
        },
      });
      const authorized = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
      await fetch("http://a.test/", authorized("one"));
      await fetch("http://a.test/", authorized("two"));
      const paused = fetch(new Request("http://a.test/", authorized("one")));
      await clock.advance(29_999);
      assert.deepEqual(sent, ["Bearer one", "Bearer two"]);
      await clock.advance(1);
      await paused;
      assert.deepEqual(sent, ["Bearer one", "Bearer two", "Bearer one"]);
    });
  }

  test("may send their fields as an iterator, which is used up by reading it", async () => {
    const seen: unknown[] = [];
    const answers = [later(0), used];
    const { fetch, ended } = limited({
      fetch: (_input, init) => {
        seen.push(new Headers(init?.headers).get("x-tenant"));
        return Promise.resolve(answers.shift()!());
      },
    });
    const headers = new Map([["x-tenant", "one"]]).entries() as unknown as HeadersInit;
    await ended(fetch("http://a.test/", { headers }));
    assert.deepEqual(seen, ["one", "one"]);
  });

  test("leave no credentials in reports of a retry, or of a wait that is too long", async () => {
    const reports: unknown[] = [];
    const answers = [later(0), used];
    const { fetch, ended } = limited({
      maxWait: 10_000,
      onRetry: (retry) => reports.push(retry),
      fetch: () => Promise.resolve(answers.shift()!()),
    });
    const init = { headers: { Authorization: "Bearer secret" } };
    await ended(fetch("http://a.test/", init));
    await assert.rejects(fetch("http://a.test/", init), (error) => reports.push(error) > 0);
    assert.equal(reports.length, 2);
    assert.doesNotMatch(`${JSON.stringify(reports[0])} ${reports[1]}`, /secret/);
  });
});

test("no answer of a server fails a call, or pauses the next one for longer than maxPause", async () => {
  const number = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom("-1", "1e9", "0", "", ".5"));
  const value = fc.oneof(
    number.map(String),
    number.map((count) => `"a";r=0;t=${count}`),
    number.map((count) => `limit=1, remaining=0, reset=${count}`),
    fc.constantFrom("Thu, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59Z", "99999999h", "0"),
    fc.stringMatching(/^[\x21-\x7e]{0,20}$/),
  );
  const names = [
    ...["retry-after", "retry-after-ms", "ratelimit", "ratelimit-policy", "ratelimit-remaining"],
    ...["ratelimit-reset", "x-ratelimit-remaining", "x-ratelimit-reset", "date"],
  ];
  const headers = fc.dictionary(fc.constantFrom(...names), value);
  const property = fc.asyncProperty(
    headers,
    fc.constantFrom(200, 202, 429, 503),
    async (headers, status) => {
      let sent = 0;
      const { fetch, clock } = limited({
        maxPause: 7_000,
        maxWait: Infinity,
        retries: 0,
        fetch: () => {
          sent++;
          return Promise.resolve(new Response("a", { status, headers }));
        },
      });
      assert.equal((await fetch("http://a.test/")).status, status);
      const next = fetch("http://a.test/");
      await clock.advance(7_000);
      assert.equal((await next).status, status);
      assert.equal(sent, 2);
    },
  );
  await fc.assert(property, fcOptions({ numRuns: 150 }));
});

describe("pauses", () => {
  test("are remembered for 1,000 keys, and the first to end is forgotten", () => {
    const remembered = serverPauses(Infinity);
    remembered.pause("soon", 0, 10);
    for (let key = 0; key < 1_500; key++) remembered.pause(`${key}`, 0, 1_000 + key);
    const left = Array.from({ length: 1_500 }, (_, key) => remembered.left(`${key}`, 0));
    assert.deepEqual(left.filter((wait) => wait > 0), left.slice(500));
    assert.equal(remembered.left("soon", 0), 0);
  });

  test("stay where a shorter one is asked for, and end though the clock steps back", () => {
    const remembered = serverPauses(1_000);
    remembered.pause("a", 5_000, 800);
    remembered.pause("a", 5_000, 10);
    assert.equal(remembered.left("a", 5_000), 800);
    assert.equal(remembered.left("a", 0), 1_000);
    assert.equal(remembered.left("a", 1_000), 0);
    remembered.pause("a", 0, NaN);
    assert.equal(remembered.left("a", 0), 0);
  });

  test("pauses after any error with a Retry-After, and repeats a request that was not served", async () => {
    for (const status of [202, 403, 420, 429, 502, 503, 529]) {
      await answering([later(2, status), ok], async (url) => {
        const { fetch, clock, ended } = limited({ retries: 0 });
        assert.equal((await ended(fetch(url))).status, status);
        const before = clock();
        assert.equal((await ended(fetch(url))).status, 200);
        assert.equal(clock() - before, status < 400 ? 0 : 2_000, String(status));
      });
      const repeats = status >= 400 && status < 500;
      await answering([later(2, status), ok], async (url, requests) => {
        const { fetch, ended } = limited();
        const answer = await ended(fetch(url, { method: "POST", body: "hello" }));
        assert.equal(answer.status, repeats ? 200 : status);
        assert.equal(requests.length, repeats ? 2 : 1);
      });
    }
  });
});
