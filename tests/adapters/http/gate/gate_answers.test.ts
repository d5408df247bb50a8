import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { gate, limitHandler, type Outcome } from "../../../../adapters/http/http.ts";
import { leakyQueue, type Limiter, limiter } from "../../../../mod.ts";
import { apiLimiter } from "../../../support/adapter_behaviour.ts";
import { testClock } from "../../../support/test_clock.ts";
import { type FakeOptions as Options, gateOf } from "../support/fake_gate.ts";

/** A promise of another making than the global one, as some libraries and other realms have. */
function promiseOf<Value>(value: Value): Promise<Value> {
  const then: Promise<Value>["then"] = (kept, broken) => Promise.resolve(value).then(kept, broken);
  return { then } as Promise<Value>;
}

describe("a promise that is not the runtime's own", () => {
  const options: Readonly<Record<string, (api: Limiter) => Options>> = {
    skip: (api) => ({ limiter: api, skip: () => promiseOf(false) }),
    limiter: (api) => ({ limiter: () => promiseOf(api) }),
    key: (api) => ({ limiter: api, key: () => promiseOf("one") }),
    cost: (api) => ({ limiter: api, cost: () => promiseOf(1) }),
  };
  for (const [option, given] of Object.entries(options)) {
    test(`is waited for as the answer of ${option}`, async () => {
      const decide = gateOf(given(apiLimiter()));
      const statuses: number[] = [];
      for (let call = 0; call < 3; call++) {
        statuses.push((await decide()).refusal?.status ?? 200);
      }
      assert.deepEqual(statuses, [200, 200, 429]);
    });
  }

  test("is waited for as the answer of a handler", async () => {
    const limited = limitHandler({ limiter: apiLimiter(), key: () => "one" })(() =>
      promiseOf(new Response("hello"))
    );
    const { headers } = await limited(new Request("http://localhost/"));
    assert.equal(headers.get("ratelimit"), '"api";r=1;t=6');
  });
});

test("a promise in place of a boolean puts no request in shadow", async () => {
  const decide = gateOf({ cost: 3, shadow: (() => Promise.resolve(false)) as never });
  assert.equal((await decide()).refusal?.status, 429);
});

test("a header field can be the key or the address, whether or not the request has it", async () => {
  const api = apiLimiter();
  const byKey = limitHandler({ limiter: api, key: ({ headers }) => headers.get("x-key") });
  const byAddress = limitHandler({
    limiter: api,
    address: ({ headers }) => headers.get("cf-connecting-ip"),
    unknownAddress: "refuse",
  });
  const statusOf = async (limited: typeof byKey, headers: Record<string, string>) =>
    (await limited(() => new Response("hello"))(new Request("http://a.test/", { headers }))).status;
  assert.equal(await statusOf(byKey, { "x-key": "one" }), 200);
  assert.equal(await statusOf(byKey, {}), 400);
  assert.equal(await statusOf(byAddress, { "cf-connecting-ip": "192.0.2.7" }), 200);
  assert.equal(await statusOf(byAddress, {}), 403);
});

describe("options that fail", () => {
  test("are asked one after the other, so that no failure goes unheard", async () => {
    let costs = 0;
    const decide = gateOf({
      key: () => Promise.reject(new Error("no key")),
      cost: () => {
        costs++;
        throw new Error("no cost");
      },
    });
    // A second failure that nobody handles would end the process, and fail this test.
    await assert.rejects(async () => await decide(), /no key/);
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.equal(costs, 0);
  });

  test("are not asked about requests that no limiter is chosen for", async () => {
    const decide = gateOf({
      limiter: () => "unlimited",
      key: () => {
        throw new Error("no key");
      },
    });
    assert.equal((await decide()).refusal, undefined);
  });

  test("of a refund are reported, and give nothing back", async () => {
    const api = apiLimiter();
    const failures: unknown[] = [];
    const { settle } = await gateOf({
      limiter: api,
      refund: ({ error }: Outcome) => (error as { code: string }).code === "late",
      onFailure: (error) => failures.push(error),
    })();
    settle!({ status: 200 });
    assert.ok(failures.length === 1 && failures[0] instanceof TypeError);
    assert.equal(api.peek("192.0.2.7", 0).remaining, 1);
  });
});

describe("an unknown address", () => {
  test("is no error in shadow mode, and is reported", async () => {
    const failures: unknown[] = [];
    const decide = gateOf({ shadow: true, onFailure: (error) => failures.push(error) });
    const { refusal, headers } = await decide({});
    assert.equal(refusal, undefined);
    assert.deepEqual(headers, []);
    assert.match(String(failures), /^TypeError: .*the address of the client must be known/);
  });

  test("is no error where the client has gone away, and its address with it", async () => {
    const { refusal } = await gateOf({})({ signal: AbortSignal.abort() });
    assert.equal(refusal?.status, 499);
  });
});

describe("X-Forwarded-For where nobody is trusted", () => {
  /** The warnings that requests with the field cause. */
  async function logged(options: Options, count: number, from = 0): Promise<string[]> {
    const lines: string[] = [];
    const { warn } = console;
    console.warn = (...items: unknown[]) => void lines.push(items.join(" "));
    try {
      const decide = gate<{ place: number }>({ limiter: apiLimiter(), ...options } as never, {
        address: () => "192.0.2.7",
        header: ({ place }, name) => name === "x-forwarded-for" && place >= from ? "6.6.6.6" : null,
        signal: () => undefined,
      });
      for (let index = 0; index < count; index++) await decide({ place: index }, undefined);
    } finally {
      console.warn = warn;
    }
    return lines;
  }

  test("is logged once for each limit", async () => {
    const lines = await logged({}, 5);
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /X-Forwarded-For.*trustedProxies/);
  });

  test("is not logged where it is meant to be so, or the address is not asked for", async () => {
    assert.deepEqual(await logged({ trustedProxies: [] }, 5), []);
    assert.deepEqual(await logged({ trustedProxies: ["192.0.2.7"] }, 5), []);
    assert.deepEqual(await logged({ key: () => "one" }, 5), []);
    assert.deepEqual(await logged({ address: () => "192.0.2.1" }, 5), []);
  });

  test("is looked for on the first hundred requests only", async () => {
    assert.equal((await logged({}, 100, 99)).length, 1);
    assert.deepEqual(await logged({}, 101, 100), []);
  });
});

test("a decision is reported before its delay, whether or not the client stays that long", async () => {
  const clock = testClock();
  const queue = leakyQueue({ limit: 1, period: "1s", queue: 2 });
  const seen: number[] = [];
  const decide = gateOf({
    limiter: limiter(queue, { clock }),
    onDecision: ({ delay }) => seen.push(delay),
  });
  const controller = new AbortController();
  const calls = [decide(), decide({ from: "192.0.2.7", signal: controller.signal }), decide()];
  await clock.advance(0);
  assert.deepEqual(seen, [0, 1_000, 2_000]);
  controller.abort();
  await clock.advance(10_000);
  await Promise.all(calls);
  assert.deepEqual(seen, [0, 1_000, 2_000]);
});
