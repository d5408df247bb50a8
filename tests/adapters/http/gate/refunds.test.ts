import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { RulesDecision } from "../../../../adapters/http/http.ts";
import { requestRules } from "../../../../adapters/rules/requests/request_rules.ts";
import {
  type Algorithm,
  all,
  fixedWindow,
  gcra,
  leakyBucket,
  type Limiter,
  limiter,
  lockout,
  memoryStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../../../mod.ts";
import { asyncMemoryStore } from "../../../support/async_memory_store.ts";
import { interceptedStore } from "../../../support/intercepted_store.ts";
import { testClock } from "../../../support/test_clock.ts";
import { type FakeOptions as Options, gateOf } from "../support/fake_gate.ts";

const RATE = { limit: 10, period: "1m" } as const;

const BUCKET = { ...RATE, burst: 10 } as const;
const ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  gcra: gcra(BUCKET) as Algorithm,
  leakyBucket: leakyBucket(BUCKET) as Algorithm,
  tokenBucket: tokenBucket(BUCKET) as Algorithm,
  "tokenBucket by intervals": tokenBucket({ ...BUCKET, refill: "interval" }) as Algorithm,
  fixedWindow: fixedWindow(RATE) as Algorithm,
  "fixedWindow from the first": fixedWindow({ ...RATE, anchor: "first" }) as Algorithm,
  slidingCounter: slidingCounter(RATE) as Algorithm,
  slidingLog: slidingLog(RATE) as Algorithm,
  slidingWindow: slidingWindow({ ...RATE, precision: "1s" }) as Algorithm,
  lockout: lockout({ ...RATE, lock: "1m" }) as Algorithm,
  all: all(gcra(BUCKET), fixedWindow({ limit: 1_000, period: "1h" })),
};
const KEY = "192.0.2.7";

/** Limits whose limiters the adapter makes. */
const MADE: Readonly<Record<string, Partial<Options>>> = {
  "limit and burst": { limiter: undefined, ...BUCKET },
  limit: { limiter: undefined, ...RATE },
  "policy of gcra": { limiter: undefined, policy: () => gcra(BUCKET) },
  "policy of all": {
    limiter: undefined,
    policy: () => all(tokenBucket(BUCKET), fixedWindow({ limit: 1_000, period: "1h" })),
  },
  limits: { limiter: undefined, limits: [BUCKET, { ...RATE, limit: 100 }] },
};

/** Units that a key admits at this instant, one by one. */
function admittedNow(api: Limiter, key = KEY): number {
  let units = 0;
  while (units < 100 && api.consume(key).allowed) units++;
  return units;
}

/**
 * The units that others take at one instant around a late refund of eight, beyond those free by then.
 */
async function aroundLateRefund(algorithm: Algorithm, wait: number): Promise<number> {
  const clock = testClock(0);
  const api = limiter(algorithm, { clock });
  const decide = gateOf({ limiter: api, cost: 8, refund: "failed" });
  const { settle } = await decide();
  await clock.advance(wait);
  const before = admittedNow(api);
  settle!({ status: 500 });
  return before + admittedNow(api);
}

describe("a refund of a request that failed late", () => {
  for (const [name, algorithm] of Object.entries(ALGORITHMS)) {
    test(`never admits more than the limit at one instant: ${name}`, async () => {
      for (const wait of [0, 1, 5_999, 6_000, 30_000, 47_000, 47_999, 59_999, 60_000, 180_000]) {
        const units = await aroundLateRefund(algorithm, wait);
        assert.ok(units <= 10, `${units} of 10 after ${wait} ms`);
      }
    });
  }

  test("gives back the units that have not drained", async () => {
    assert.equal(await aroundLateRefund(ALGORITHMS["gcra"]!, 12_000), 10);
    const clock = testClock(0);
    const api = limiter(gcra(BUCKET), { clock });
    const { settle } = await gateOf({ limiter: api, cost: 8, refund: "failed" })();
    await clock.advance(12_000);
    settle!({ status: 500 });
    assert.equal(api.peek(KEY, 0).remaining, 10);
  });

  for (const [name, options] of Object.entries(MADE)) {
    test(`gives back all of them in any order, where the adapter makes the limiter: ${name}`, async () => {
      const clock = testClock(0);
      const decide = gateOf({ ...options, clock, cost: 2, refund: "failed" } as Options);
      const verdicts = [];
      for (let request = 0; request < 5; request++) verdicts.push(await decide());
      assert.equal((await decide()).decision!.allowed, false);
      for (const request of [1, 0, 4, 2, 3]) verdicts[request]!.settle!({ status: 500 });
      for (const expected of [true, true, true, true, true, false]) {
        assert.equal((await decide()).decision!.allowed, expected);
      }
    });
  }

  test("gives each of several limits its own back", async () => {
    const clock = testClock(0);
    const store = memoryStore();
    const minute = limiter(gcra(BUCKET), { clock, store, prefix: "minute" });
    const hour = limiter(fixedWindow({ limit: 100, period: "1h" }), {
      clock,
      store,
      prefix: "hour",
    });
    const decide = gateOf({
      limiter: undefined,
      limits: [{ limiter: minute }, { limiter: hour }],
      cost: 8,
      refund: "failed",
    });
    const { settle } = await decide();
    await clock.advance(47_000);
    const before = admittedNow(minute);
    settle!({ status: 500 });
    assert.ok(before + admittedNow(minute) <= 10);
    assert.equal(hour.peek(KEY, 0).remaining, 100);
  });

  test("of rules never admits more than the limit at one instant", async () => {
    const clock = testClock(0);
    const rules = await requestRules({
      domain: "shop",
      routes: [{ path: "/", descriptors: [{ from: "{address}" }] }],
      rules: [{ key: "from", limits: [BUCKET] }],
    }, { clock });
    const call = { method: "GET", path: "/", address: KEY, header: () => null };
    const decide = async () => await rules.decide(call, []) as RulesDecision;
    const giveBacks = [];
    for (let request = 0; request < 8; request++) giveBacks.push((await decide()).refund());
    await clock.advance(47_000);
    let admitted = 0;
    while ((await decide()).decision.allowed) admitted++;
    for (const giveBack of giveBacks) giveBack();
    while ((await decide()).decision.allowed) admitted++;
    assert.ok(admitted <= 10, `${admitted} of 10`);
    await rules.close();
  });

  test("is asked for with the call only where a refund may come", async () => {
    const seen: string[] = [];
    const store = interceptedStore(asyncMemoryStore(), (calls, proceed) => {
      seen.push(...calls.map(({ verb }) => verb.name));
      return proceed();
    });
    const api = limiter(gcra(BUCKET), { store, prefix: "api" });
    const both: Options["limits"] = [
      { limiter: api },
      { limiter: limiter(gcra(BUCKET), { store, prefix: "other" }) },
    ];
    for (const limits of [{ limiter: api }, { limiter: undefined, limits: both }]) {
      await gateOf(limits)();
      const { settle } = await gateOf({ ...limits, refund: "failed" })();
      settle!({ status: 500 });
    }
    await store.close();
    assert.deepEqual(seen, [
      ..."consume reserve settle consume consume reserve reserve settle settle".split(" "),
    ]);
  });

  test("remembers nothing of a request that is refunded before another call", async () => {
    const clock = testClock(0);
    const store = memoryStore();
    const api = limiter(gcra(BUCKET), { clock, store, prefix: "api" });
    const before = store.statistics().keys;
    const { settle } = await gateOf({ limiter: api, cost: 8, refund: "failed" })();
    settle!({ status: 500 });
    assert.equal(store.statistics().keys, before);
  });
});
