import fc from "fast-check";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { requestRules } from "../../../../adapters/rules/rules.ts";
import {
  all,
  type Decision,
  fixedWindow,
  gcra,
  leakyQueue,
  limiter,
  memoryStore,
} from "../../../../mod.ts";
import { asyncMemoryStore } from "../../../support/async_memory_store.ts";
import { fcOptions } from "../../../support/seed.ts";
import { testClock } from "../../../support/test_clock.ts";
import { type FakeOptions as Options, gateOf } from "../support/fake_gate.ts";

const queue = leakyQueue({ name: "queue", limit: 1, period: "1s", queue: 4 });
const wide = gcra({ name: "wide", limit: 9, period: "1s", burst: 9 });
const clock = testClock();

/** One limit, with a delay in it. */
const LIMITERS = {
  "that answers at once": () => limiter(queue, { clock }),
  "that answers by promises": () =>
    limiter(queue, { store: asyncMemoryStore(), prefix: "p", clock }),
  "within an all": () => limiter(all(wide, queue), { clock }),
};

/** Requests that come together: the status and `Retry-After` of those that are answered at once. */
async function answeredAtOnce(options: Options, requests: number) {
  const decide = gateOf(options);
  const answered: unknown[] = [];
  const calls = Array.from({ length: requests }, async () => {
    const { refusal, headers } = await decide();
    const fields = Object.fromEntries(headers);
    answered.push([refusal?.status ?? 200, fields["Retry-After"]]);
    return refusal;
  });
  await clock.advance(0);
  const atOnce = [...answered];
  await clock.advance(60_000);
  return { atOnce, refusals: await Promise.all(calls) };
}

describe("maxDelay", () => {
  for (const [name, make] of Object.entries(LIMITERS)) {
    test(`refuses a start that would be later, without taking the place, of a limiter ${name}`, async () => {
      const api = make();
      const { atOnce, refusals } = await answeredAtOnce({ limiter: api, maxDelay: "2s" }, 6);
      // One starts at once, two wait; at 1 s a place would be in time again.
      assert.deepEqual(atOnce, [[200, undefined], [429, "1"], [429, "1"], [429, "1"]]);
      for (const refusal of refusals.filter((refusal) => refusal !== undefined)) {
        assert.deepEqual(JSON.parse(refusal.body)["violated-policies"], ["queue"]);
      }
    });

    test(`leaves places free of a limiter ${name}`, async () => {
      const api = make();
      const key = "192.0.2.7";
      await api.consume(key);
      const before = await api.peek(key, 0);
      const verdict = await gateOf({ limiter: api, key: () => key, maxDelay: 999 })();
      assert.equal(verdict.refusal?.status, 429);
      assert.deepEqual(await api.peek(key, 0), before);
    });
  }

  test("of several limits takes nothing of those beside the queue", async () => {
    const store = memoryStore();
    const byQueue = limiter(queue, { store, prefix: "queue", clock });
    const day = fixedWindow({ name: "day", limit: 9, period: "1d" });
    const byDay = limiter(day, { store, prefix: "day", clock });
    const limits = [{ limiter: byDay }, { limiter: byQueue }];
    const decide = gateOf({ limiter: undefined, limits, key: () => "one", maxDelay: 0 });
    assert.equal((await decide()).refusal, undefined);
    const { refusal, decision } = await decide();
    assert.deepEqual(JSON.parse(refusal!.body)["violated-policies"], ["queue"]);
    assert.equal(decision!.retryAfter, 1_000);
    assert.deepEqual([byDay.peek("one", 0).remaining, byQueue.peek("one", 0).remaining], [8, 4]);
  });

  test("says by retryAfter when a place is in time: then it is, and not a millisecond before", () => {
    const drawn = fc.record({
      limit: fc.integer({ min: 1, max: 7 }),
      period: fc.integer({ min: 500, max: 5_000 }),
      queue: fc.integer({ min: 0, max: 6 }),
      burst: fc.integer({ min: 1, max: 3 }),
      calls: fc.integer({ min: 1, max: 9 }),
      maxDelay: fc.oneof(
        fc.integer({ min: 0, max: 6_000 }),
        fc.double({ min: 0, max: 900, noNaN: true }),
      ),
      beside: fc.boolean(),
    });
    let [refused, late] = [0, 0];
    fc.assert(
      fc.property(drawn, ({ calls, maxDelay, beside, ...options }) => {
        const shaped = leakyQueue(options);
        const algorithm = beside ? all(shaped, fixedWindow({ limit: 5, period: 700 })) : shaped;
        const begin = 1_764_000_000_123;

        function ask(at: number): { decision: Decision; isFree: boolean } {
          let now = begin;
          // Nobody is woken: what happens after a delay does not matter here.
          const clock = Object.assign(() => now, { after: () => () => {} });
          const api = limiter(algorithm, { clock });
          for (let call = 0; call < calls; call++) api.consume("one");
          now = at;
          const isFree = api.peek("one").allowed;
          const seen: Decision[] = [];
          const onDecision = (decision: Decision) => seen.push(decision);
          void gateOf({ limiter: api, key: () => "one", maxDelay, onDecision })();
          return { decision: seen[0]!, isFree };
        }

        const { decision, isFree } = ask(begin);
        if (decision.allowed) return assert.ok(decision.delay <= maxDelay);
        refused++;
        if (isFree) late++;
        const { decision: then } = ask(begin + decision.retryAfter);
        assert.equal(then.allowed, true);
        assert.ok(then.delay <= maxDelay);
        assert.equal(ask(begin + decision.retryAfter - 1).decision.allowed, false);
      }),
      fcOptions({ numRuns: 200 }),
    );
    assert.ok(late > 0 && refused > late);
  });

  test("changes nothing in the shadow, nor where nothing waits", async () => {
    const shadow = gateOf({ limiter: limiter(queue, { clock }), maxDelay: 0, shadow: true });
    for (const delay of [0, 1_000, 2_000]) assert.equal((await shadow()).decision?.delay, delay);
    const plain = gateOf({ limiter: limiter(wide, { clock }), maxDelay: 0 });
    assert.equal((await plain()).refusal, undefined);
  });

  test("is a duration, and does not stand beside rules", async () => {
    for (const maxDelay of ["soon", "-1s", -1, NaN, null, {}]) {
      assert.throws(
        () => gateOf({ maxDelay: maxDelay as number }),
        /^(Type|Range)Error: Cannot create rateLimit as maxDelay must be /,
      );
    }
    for (const maxDelay of [0, 0.5, Infinity, "500ms"] as const) gateOf({ maxDelay });
    const rules = await requestRules({
      domain: "shop",
      rules: [{ key: "a", limits: [{ limit: 1, period: "1s", burst: 1 }] }],
    });
    assert.throws(
      () => gateOf({ limiter: undefined, rules, maxDelay: "1s" } as object),
      /^TypeError: Cannot create rateLimit as maxDelay must not stand beside rules/,
    );
    await rules.close();
  });
});
