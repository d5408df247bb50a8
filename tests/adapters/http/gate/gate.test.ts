import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { GateVerdict } from "../../../../adapters/http/http.ts";
import {
  type Algorithm,
  all,
  type AsyncLimiter,
  concurrency,
  type Decision,
  gcra,
  leakyQueue,
  limiter,
} from "../../../../mod.ts";
import { apiLimiter } from "../../../support/adapter_behaviour.ts";
import { asyncMemoryStore } from "../../../support/async_memory_store.ts";
import { testClock } from "../../../support/test_clock.ts";
import { type FakeOptions as Options, gateOf } from "../support/fake_gate.ts";
import { interceptedStore } from "../../../support/intercepted_store.ts";

function fieldsOf(verdict: GateVerdict): Record<string, string> {
  return Object.fromEntries(verdict.headers);
}

/** Uses both units up, and answers the verdict of the next call. */
async function refusedBy(options: Options): Promise<GateVerdict> {
  const decide = gateOf(options);
  await decide();
  await decide();
  return await decide();
}

describe("the gate", () => {
  test("answers at once where the limiter does", () => {
    assert.equal(gateOf()() instanceof Promise, false);
    assert.equal(
      gateOf({ key: () => "one", cost: () => 1, skip: () => false })() instanceof Promise,
      false,
    );
  });

  test("keeps clients apart, IPv6 by network and mapped IPv4 by address", async () => {
    const decide = gateOf({ limiter: limiter(gcra({ limit: 1, period: "1h", burst: 1 })) });
    const admitted = async (from: string) => (await decide({ from })).refusal === undefined;
    assert.equal(await admitted("192.0.2.7"), true);
    assert.equal(await admitted("::ffff:192.0.2.7"), false);
    assert.equal(await admitted("::ffff:192.0.2.8"), true);
    assert.equal(await admitted("2001:db8::1"), true);
    assert.equal(await admitted("2001:db8::2"), false);
    assert.equal(await admitted("2001:db8:0:1::1"), true);
  });

  describe("of an unknown address", () => {
    for (const request of [{}, { from: "" }, { from: "unknown" }]) {
      test(`${JSON.stringify(request)} does as it was told`, async () => {
        assert.throws(() => gateOf()(request), /^TypeError: Cannot limit the rate as the address/);
        const refused = await gateOf({ unknownAddress: "refuse" })(request);
        assert.equal(refused.refusal?.status, 403);
        assert.deepEqual(fieldsOf(refused), { "Cache-Control": "no-store" });
        const decide = gateOf({ unknownAddress: "admit" });
        for (let call = 0; call < 5; call++) {
          assert.equal((await decide(request)).refusal, undefined);
        }
      });
    }
  });

  test("refuses a key that is longer than a store should keep, and an empty one", async () => {
    const decide = gateOf({ key: ({ from }) => from! });
    assert.equal((await decide({ from: "k".repeat(1_024) })).refusal, undefined);
    assert.equal((await decide({ from: "k".repeat(1_025) })).refusal?.status, 431);
    assert.equal((await decide({ from: "" })).refusal?.status, 400);
    assert.equal((await decide({})).refusal?.status, 400);
    assert.equal((await decide({ from: "half \ud83d" })).refusal?.status, 400);
    assert.equal((await decide({ from: "whole \ud83d\ude00" })).refusal, undefined);
    const shadow = gateOf({ key: ({ from }) => from, shadow: true });
    for (const from of ["", "half \ud83d", "k".repeat(1_025)]) {
      assert.equal((await shadow({ from })).refusal, undefined);
    }
  });

  test("chooses limiter, key and cost for each request, by promises too", async () => {
    const small = limiter(gcra({ name: "small", limit: 1, period: "1h", burst: 1 }));
    const large = limiter(gcra({ name: "large", limit: 9, period: "1h", burst: 9 }));
    const decide = gateOf({
      limiter: ({ from }) =>
        from === "vip" ? Promise.resolve(large) : from === "free" ? "unlimited" : small,
      key: ({ from }) => Promise.resolve(from!),
      cost: ({ from }) => from === "vip" ? 3 : 1,
    });
    assert.match(fieldsOf(await decide({ from: "vip" }))["RateLimit"]!, /^"large";r=6/);
    assert.match(fieldsOf(await decide({ from: "one" }))["RateLimit"]!, /^"small";r=0/);
    assert.equal((await decide({ from: "one" })).refusal?.status, 429);
    assert.equal((await decide({ from: "free" })).decision, undefined);
  });

  test("rejects a policy whose name could begin another field, even if it is chosen late", () => {
    const evil = limiter(gcra({ name: "a\r\nSet-Cookie: b=c", limit: 1, period: 1, burst: 1 }));
    assert.throws(() => gateOf({ limiter: evil }), RangeError);
    assert.throws(() => gateOf({ limiter: () => evil })(), RangeError);
    assert.throws(() => gateOf({ limiter: evil, headers: false }), RangeError);
  });

  const none = { "RateLimit-Policy": '"api";q=10;w=60', RateLimit: '"api";r=0;t=6' };
  const late = (jitter: number) => ({ jitter: 10_000, random: () => jitter });
  const after = (seconds: string) => ({
    ...{ ...none, "Retry-After": seconds },
    "Cache-Control": "no-store",
  });
  /** The fields of the third request of a client, or of the first one. */
  const written: readonly [what: string, options: Options, fields: object, first?: true][] = [
    ["with jitter on Retry-After, only ever later", late(0), after("6")],
    ["with jitter in between", late(0.5), after("11")],
    ["with jitter below the bound", late(0.9999), after("16")],
    ["that are exposed, Retry-After among them", { exposeHeaders: true }, {
      ...after("6"),
      "Access-Control-Expose-Headers": "RateLimit-Policy, RateLimit, Retry-After",
    }],
    ["without Retry-After where a cost can never be admitted", { cost: 3 }, {
      ...none,
      RateLimit: '"api";r=2',
      "Cache-Control": "no-store",
    }],
    ["with partition and unit", { partition: () => "App-999", unit: "content-bytes" }, {
      "RateLimit-Policy": '"api";q=10;w=60;qu="content-bytes";pk=:QXBwLTk5OQ==:',
      RateLimit: '"api";r=1;t=6;pk=:QXBwLTk5OQ==:',
    }, true],
  ];
  for (const [what, options, fields, first] of written) {
    test(`writes fields ${what}`, async () => {
      const verdict = await (first ? gateOf(options)() : refusedBy(options));
      assert.deepEqual(fieldsOf(verdict), fields);
    });
  }

  test("lets the answer be changed, and keeps what is undefined; tells of every decision", async () => {
    const seen: [boolean, string][] = [];
    const { refusal } = await refusedBy({
      respond: ({ status }, { retryAfter }) => ({
        status: undefined as unknown as number,
        contentType: "text/plain",
        body: `${status}: again in ${retryAfter} ms`,
      }),
      onDecision: ({ allowed }, _request, key) => seen.push([allowed, key]),
    });
    const body = "429: again in 6000 ms";
    assert.deepEqual(refusal, { status: 429, contentType: "text/plain", body });
    assert.deepEqual(seen, [[true, "192.0.2.7"], [true, "192.0.2.7"], [false, "192.0.2.7"]]);
  });

  test("gives every refused client an answer of its own, which callbacks may change", async () => {
    const respond: Options["respond"] = (refusal) => {
      Object.assign(refusal, { body: "changed" });
      return {};
    };
    const refusing: Options[] = [{ cost: 3 }, { cost: 3, respond }, { key: () => "" }];
    for (const options of [...refusing, { limiter: byPolicy(false) }]) {
      const decide = gateOf(options);
      const { refusal } = await decide();
      Object.assign(refusal!, { body: "changed" });
      assert.notEqual((await decide()).refusal?.body, "changed");
    }
  });

  test("calls a refusal by the failure policy a 503, and tells nothing of the limit", async () => {
    const { refusal, headers } = await gateOf({ limiter: byPolicy(false) })();
    assert.equal(refusal?.status, 503);
    assert.deepEqual(JSON.parse(refusal!.body), {
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      title: "Temporary Reduced Capacity",
      status: 503,
      "violated-policies": [],
    });
    assert.deepEqual(headers, [["Retry-After", "2"], ["Cache-Control", "no-store"]]);
    const admitted = await gateOf({ limiter: byPolicy(true), refund: "failed" })();
    assert.equal(admitted.refusal, undefined);
    assert.deepEqual(admitted.headers, []);
    assert.equal(admitted.settle, undefined);
  });

  test("gives units back once, when the rule says so", async () => {
    for (
      const [refund, status, left] of [
        ["failed", 500, 2],
        ["failed", 200, 1],
        ["failed", 499, 1],
        ["successful", 499, 1],
        ["successful", 200, 2],
        ["successful", 404, 1],
        ["successful", 302, 2],
        ["failed", 302, 1],
        [({ status }: { status: number }) => status === 418, 418, 2],
      ] as const
    ) {
      const api = apiLimiter();
      const { settle } = await gateOf({ limiter: api, refund })();
      settle!({ status });
      settle!({ status });
      assert.equal(api.peek("192.0.2.7", 0).remaining, left);
    }
  });

  test("goes on if a refund fails", async () => {
    const failing = interceptedStore(
      asyncMemoryStore(),
      (calls, proceed) => calls[0]!.cost < 0 ? Promise.reject(new Error("gone")) : proceed(),
    );
    const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), {
      store: failing,
      prefix: "p",
    });
    const { settle } = await gateOf({ limiter: api, refund: "failed" })();
    settle!({ status: 500 });
    await new Promise((resolve) => setTimeout(resolve, 0));
  });

  test("passes an error on that is not of a store which cannot decide", async () => {
    const failing = interceptedStore(asyncMemoryStore(), () => Promise.reject(new Error("bug")));
    const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), {
      store: failing,
      prefix: "p",
    });
    for (const more of [{}, { refund: "failed" }, { shadow: true }] as const) {
      await assert.rejects(async () => await gateOf({ limiter: api, ...more })(), /^Error: bug$/);
    }
  });

  test("gives a refused request nothing to release or settle", async () => {
    const jobs = limiter(concurrency({ limit: 1, ttl: "1h" }));
    const decide = gateOf({ limiter: jobs, refund: "failed" });
    const first = await decide();
    const { refusal, release, settle } = await decide();
    assert.deepEqual([refusal?.status, release, settle], [429, undefined, undefined]);
    first.release!();
    assert.equal(jobs.peek("192.0.2.7", 0).remaining, 1);
  });

  test("shadows some requests and not others", async () => {
    const seen: boolean[] = [];
    const decide = gateOf({
      cost: 3,
      shadow: ({ from }) => from === "192.0.2.1",
      onDecision: ({ allowed }) => seen.push(allowed),
    });
    const shadowed = await decide({ from: "192.0.2.1" });
    assert.equal(shadowed.decision?.allowed, false);
    assert.equal(shadowed.refusal, undefined);
    assert.deepEqual(shadowed.headers, []);
    assert.equal((await decide({ from: "192.0.2.2" })).refusal?.status, 429);
    assert.deepEqual(seen, [false, false]);
  });
});

describe("the gate of a queue", () => {
  const queue = leakyQueue({ name: "queue", limit: 1, period: "1s", queue: 2 });

  function queued(make: (clock: ReturnType<typeof testClock>) => Options["limiter"]) {
    const clock = testClock();
    const started: [name: string, status: number, at: number][] = [];
    const start = clock();
    const decide = gateOf({ limiter: make(clock)! });
    async function arrive(name: string, signal?: AbortSignal): Promise<void> {
      const { refusal } = await decide({ from: "192.0.2.7", ...(signal && { signal }) });
      started.push([name, refusal?.status ?? 200, clock() - start]);
    }
    return { clock, started, arrive };
  }

  const stores: [
    name: string,
    make: (clock: ReturnType<typeof testClock>) => Options["limiter"],
  ][] = [
    ["that answers at once", (clock) => limiter(queue, { clock })],
    [
      "that answers by promises",
      (clock) => limiter(queue, { store: asyncMemoryStore(), prefix: "p", clock }),
    ],
    [
      "within an all",
      (clock) => limiter(all(queue, gcra({ limit: 9, period: "1s", burst: 9 })), { clock }),
    ],
  ];

  for (const [name, make] of stores) {
    test(`${name} starts calls one after the other, and refuses at once what does not fit`, async () => {
      const { clock, started, arrive } = queued(make);
      const calls = ["a", "b", "c", "d"].map((name) => arrive(name));
      await clock.advance(10_000);
      await Promise.all(calls);
      assert.deepEqual(started, [
        ["a", 200, 0],
        ["d", 429, 0],
        ["b", 200, 1_000],
        ["c", 200, 2_000],
      ]);
    });

    for (
      const [leaver, what, ...expected] of [
        ["c", "gives the newest place back", ["c", 499, 100], ["b", 200, 1_000], ["d", 200, 2_000]],
        ["b", "keeps the spacing", ["b", 499, 100], ["d", 429, 100], ["c", 200, 2_000]],
      ] as const
    ) {
      test(`${name} ${what} when the client of ${leaver} goes away`, async () => {
        const { clock, started, arrive } = queued(make);
        const controller = new AbortController();
        const calls = ["a", "b", "c"].map((name) =>
          arrive(name, name === leaver ? controller.signal : undefined)
        );
        await clock.advance(100);
        controller.abort();
        await clock.advance(0);
        calls.push(arrive("d"));
        await clock.advance(10_000);
        await Promise.all(calls);
        assert.deepEqual(started, [["a", 200, 0], ...expected]);
      });
    }
  }

  test("within an all is waited out, even if the other part admits one call at once", async () => {
    const both = all(queue, gcra({ limit: 1, period: 100, burst: 1 }));
    const { clock, started, arrive } = queued((clock) => limiter(both, { clock }));
    const calls = [arrive("a")];
    await clock.advance(100);
    calls.push(arrive("b"));
    await clock.advance(10_000);
    await Promise.all(calls);
    assert.deepEqual(started, [["a", 200, 0], ["b", 200, 1_000]]);
  });

  test("of an algorithm that delays now and then is waited out", async () => {
    const base = gcra({ limit: 9, period: "1s", burst: 9 });
    const moody: Algorithm = {
      ...base as Algorithm,
      id: "moody",
      internals: undefined,
      step(state, now, cost) {
        const [decision, next] = (base as Algorithm).step(state, now, cost);
        return [{ ...decision, delay: cost === 2 ? 20 : 0 }, next];
      },
    };
    const verdict = gateOf({ limiter: limiter(moody), cost: 2 })();
    assert.ok(verdict instanceof Promise);
    assert.equal((await verdict).refusal, undefined);
    const gone = await gateOf({ limiter: limiter(moody), cost: 2 })({
      from: "192.0.2.7",
      signal: AbortSignal.abort(),
    });
    assert.equal(gone.refusal?.status, 499);
  });

  test("gives back by its rule of refunds only the newest place, so that spacing holds", async () => {
    const clock = testClock();
    const begin = clock();
    const starts: number[] = [];
    const decide = gateOf({ limiter: limiter(queue, { clock }), refund: "failed" });
    const arrive = async () => {
      const { settle } = await decide();
      starts.push(clock() - begin);
      return settle!;
    };
    const first = arrive();
    const calls = [arrive(), arrive()];
    await clock.advance(100);
    // Others wait behind it: the next one must not get the start of the last of them.
    (await first)({ status: 500 });
    await clock.advance(900);
    calls.push(arrive());
    await clock.advance(9_000);
    await Promise.all(calls);
    const last = arrive();
    await clock.advance(100);
    (await last)({ status: 500 });
    await arrive();
    assert.deepEqual(starts, [0, 1_000, 2_000, 3_000, 10_000, 10_100]);
  });

  test("promises as adapters expect it, though a library has replaced Promise", () => {
    const own = globalThis.Promise;
    const decide = gateOf({ limiter: limiter(queue) });
    decide(); // starts at once
    try {
      globalThis.Promise = class<Value> extends own<Value> {} as PromiseConstructor;
      assert.ok(decide() instanceof globalThis.Promise);
    } finally {
      globalThis.Promise = own;
    }
  });

  test("delays nobody in the shadow", () => {
    const decide = gateOf({ limiter: limiter(queue), shadow: true });
    for (let calls = 0; calls < 4; calls++) assert.ok(!(decide() instanceof Promise));
  });

  test("takes nothing for a client that has gone already", async () => {
    const api = limiter(queue, { clock: () => 0 });
    const { refusal } = await gateOf({ limiter: api })({
      from: "192.0.2.7",
      signal: AbortSignal.abort(),
    });
    assert.equal(refusal?.status, 499);
    assert.equal(api.peek("192.0.2.7", 0).remaining, 3);
  });
});

/** A limiter whose store's failure policy answers. */
function byPolicy(allowed: boolean): AsyncLimiter {
  const store = asyncMemoryStore();
  const decision: Decision = {
    allowed,
    limit: 10,
    remaining: 0,
    retryAfter: allowed ? 0 : 1_500,
    nextAfter: 0,
    resetAfter: 0,
    delay: 0,
    debt: 0,
    source: "policy",
    parts: undefined,
  };
  return limiter(gcra({ limit: 10, period: "1m", burst: 10 }), {
    store: interceptedStore(
      store,
      (calls) => Promise.resolve(calls.map(({ verb }) => verb.answerOf(decision))),
    ),
    prefix: "p",
  });
}
