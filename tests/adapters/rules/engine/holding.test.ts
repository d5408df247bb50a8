import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type RuleEngine, ruleEngine, type RuleReceipt } from "../../../../adapters/rules/rules.ts";
import { memoryStore } from "../../../../mod.ts";
import { asyncMemoryStore } from "../../../support/async_memory_store.ts";
import { sharedStore } from "../../../../stores/shared/shared_store.ts";

const STREAMS = { algorithm: "concurrency", limit: 2, ttl: "30s" } as const;
const REQUESTS = { limit: 60, period: "1m", burst: 5, reservable: true } as const;
const TOKENS = { limit: 60_000, period: "1m", burst: 10_000, reservable: true } as const;
const PLAIN = { limit: 60, period: "1m", burst: 7 } as const;

const RULES = {
  domain: "llm",
  rules: [
    { key: "stream", limits: [STREAMS] },
    { key: "request", limits: [REQUESTS] },
    { key: "tokens", limits: [TOKENS] },
    { key: "both", limits: [STREAMS, REQUESTS] },
    { key: "plain", limits: [PLAIN] },
    { key: "mixed", name: "mixed", limits: [TOKENS, PLAIN] },
    { key: "free", unlimited: true },
    { key: "off", blocked: true },
    { key: "trial", limits: [{ ...STREAMS, limit: 1 }], shadow: true },
  ],
};

const of = (key: string, cost?: number) => ({ entries: [[key, "a"] as const], cost });
const call = (...descriptors: ReturnType<typeof of>[]) => ({ domain: "llm", descriptors });
/** As it travels to another process. */
const sent = <Value>(value: Value | undefined): Value => JSON.parse(JSON.stringify(value));

const STORES = {
  memory: () => memoryStore(),
  promises: () => asyncMemoryStore(),
  shared: () => sharedStore({ capacity: 100 }),
};

for (const [kind, makeStore] of Object.entries(STORES)) {
  describe(`holding by rules on ${kind}`, () => {
    const setup = (more: object = {}) => {
      const time = { now: 1_000_000 };
      const engine = ruleEngine({
        rules: { ...RULES, ...more },
        store: makeStore(),
        clock: () => time.now,
      });
      return { time, engine };
    };
    const left = async (engine: RuleEngine, key: string) =>
      (await engine.peek({ ...call(of(key)), cost: 0 })).decision?.remaining;

    test("a permit is held, renewed and released", async () => {
      const { time, engine } = setup();
      const first = await engine.hold(call(of("stream")));
      const second = await engine.hold(call(of("stream")));
      assert.equal(first.permit?.ttl, 30_000);
      const refused = await engine.hold(call(of("stream")));
      assert.deepEqual([refused.verdict.allowed, refused.permit], [false, undefined]);
      assert.equal(refused.verdict.decision?.retryAfter, 30_000);
      time.now += 20_000;
      assert.equal(await engine.renew(sent(first.permit)), true);
      time.now += 20_000;
      assert.equal(await engine.renew(sent(second.permit)), false);
      assert.equal(await left(engine, "stream"), 1);
      assert.equal((await engine.release(sent(first.permit!))).outcome, "settled");
      assert.equal((await engine.release(sent(first.permit!))).outcome, "unknown");
      assert.equal(await left(engine, "stream"), 2);
    });

    test("a hold that is sent again with its id holds once", async () => {
      const { engine } = setup();
      await engine.hold(call(of("stream")), 42);
      await engine.hold(call(of("stream")), 42);
      assert.equal(await left(engine, "stream"), 1);
    });

    test("a refusal takes nothing of any limit, a release gives back the permit alone", async () => {
      const { engine } = setup();
      const held = await engine.hold(call(of("stream", 2), of("request")));
      const refused = await engine.hold(call(of("stream"), of("request")));
      assert.equal(refused.verdict.allowed, false);
      assert.equal(await left(engine, "request"), 4);
      await engine.release(held.permit!);
      assert.deepEqual([await left(engine, "stream"), await left(engine, "request")], [2, 4]);
      await engine.hold(call(of("both")));
      assert.equal(await left(engine, "both"), 1);
    });

    test("one reservation holds permits and units, and one settle ends all of it", async () => {
      const { time, engine } = setup();
      const request = { ...call(of("stream", 1), of("request", 1), of("tokens")), cost: 8_000 };
      const { receipt } = await engine.reserve(request);
      assert.deepEqual([await left(engine, "stream"), await left(engine, "tokens")], [1, 2_000]);
      time.now += 1_000;
      assert.equal(await engine.renew(sent(receipt)), true);
      const settlement = await engine.settle(sent(receipt), 3_000);
      assert.deepEqual([settlement.outcome, settlement.returned], ["settled", 5_000]);
      assert.equal(await left(engine, "stream"), 2);
      assert.equal(await left(engine, "tokens"), 8_000); // 3,000 used, 1,000 of them drained
      assert.equal(await left(engine, "request"), 5); // kept its cost of 1, which has drained
      const again = await engine.settle(sent(receipt), 3_000);
      assert.deepEqual([again.outcome, again.returned], ["unknown", 0]);
    });

    test("a settle charges the excess once, and a release gives back own costs as well", async () => {
      const { engine } = setup();
      const one = await engine.reserve({ ...call(of("tokens")), cost: 1_000 });
      const settled = await engine.settle(sent(one.receipt), 12_000);
      assert.equal(settled.charged, 11_000);
      assert.equal(settled.counters[0]?.decision.debt, 2_000);
      assert.equal((await engine.settle(sent(one.receipt), 12_000)).charged, 0);
      const two = await engine.reserve(call(of("request", 3)));
      assert.equal((await engine.release(sent(two.receipt!))).returned, 3);
      assert.equal(await left(engine, "request"), 5);
    });

    test("each descriptor may be settled at a cost of its own", async () => {
      const { engine } = setup();
      const { receipt } = await engine.reserve(call(of("request", 2), of("tokens", 1_000)));
      await engine.settle(sent(receipt), [undefined, 300]);
      assert.deepEqual([await left(engine, "request"), await left(engine, "tokens")], [3, 9_700]);
      await assert.rejects(engine.settle(receipt!, [1]), /a list of 2, one a descriptor/);
      await assert.rejects(engine.settle(receipt!, [1, -1]), RangeError);
    });

    test("units that nobody settles within their time stay charged", async () => {
      const month = {
        algorithm: "calendarWindow",
        limit: 100,
        every: "month",
        zone: "UTC",
      } as const;
      const { time, engine } = setup({
        rules: [{ key: "money", limits: [{ ...month, reservable: true, within: "5m" }] }],
      });
      const { receipt } = await engine.reserve({ ...call(of("money")), cost: 90 });
      assert.equal(receipt?.parts[0]?.until, time.now + 300_000);
      time.now += 299_999;
      const { receipt: other } = await engine.reserve({ ...call(of("money")), cost: 10 });
      time.now += 1;
      assert.equal((await engine.settle(sent(receipt), 50)).outcome, "expired");
      assert.equal((await engine.settle(sent(other), 4)).returned, 6);
      assert.equal(await left(engine, "money"), 6);
    });

    test("a rule that is not reservable refuses a reservation by name, and takes nothing", async () => {
      const { engine } = setup();
      const reserve = async (...keys: readonly string[]) =>
        await engine.reserve({ ...call(...keys.map((key) => of(key))), cost: 2 });
      await assert.rejects(reserve("plain"), {
        name: "MalformedRequestError",
        message: /^Cannot reserve as the limits of rule .*plain.* must have reservable: true/,
      });
      await assert.rejects(reserve("tokens", "stream", "mixed"), {
        name: "MalformedRequestError",
        message: /rule mixed must have reservable: true/,
      });
      assert.deepEqual(
        [await left(engine, "tokens"), await left(engine, "stream"), await left(engine, "plain")],
        [10_000, 2, 7],
      );
      // Permits need no receipts: `hold` takes the other limits for good.
      assert.equal((await engine.hold(call(of("stream"), of("plain")))).verdict.allowed, true);
    });

    test("a refused reservation holds nothing, even where each rule is charged by itself", async () => {
      const { engine } = setup({ charge: "each" });
      await engine.hold(call(of("stream", 2)));
      const refused = await engine.reserve({
        ...call(of("tokens"), of("request", 1), of("stream", 1)),
        cost: 100,
      });
      assert.deepEqual([refused.verdict.allowed, refused.receipt], [false, undefined]);
      assert.deepEqual([await left(engine, "tokens"), await left(engine, "request")], [10_000, 5]);
    });

    test("an unlimited request holds nothing, and a blocked one is refused", async () => {
      const { engine } = setup();
      const free = await engine.reserve(call(of("free"), of("nothing")));
      assert.deepEqual(free.receipt?.parts, []);
      assert.equal((await engine.settle(sent(free.receipt), 7)).outcome, "settled");
      const held = await engine.hold(call(of("free")));
      assert.equal(await engine.renew(sent(held.permit)), true);
      assert.equal((await engine.hold(call(of("off")))).permit, undefined);
    });

    test("a rule in the shadow never refuses, and its permits come back", async () => {
      const { engine } = setup();
      const first = await engine.hold(call(of("trial")));
      const second = await engine.hold(call(of("trial")));
      assert.equal(second.verdict.allowed, true);
      assert.equal(second.verdict.rules[0]?.decision?.allowed, false);
      assert.equal(await engine.renew(second.permit!), true);
      await engine.release(first.permit!);
      const third = await engine.hold(call(of("trial")));
      assert.equal(third.verdict.rules[0]?.decision?.allowed, true);
    });

    test("a receipt of other rules gives back nothing", async () => {
      const { engine } = setup();
      const { receipt } = await engine.reserve({ ...call(of("tokens")), cost: 100 });
      const other = setup({
        rules: [{
          key: "tokens",
          limits: [{ limit: 9, period: "1s", burst: 9, reservable: true }],
        }],
      }).engine;
      assert.equal((await other.settle(sent(receipt), 1)).outcome, "unknown");
      const elsewhere = setup().engine;
      await elsewhere.reserve({ ...call(of("tokens")), cost: 100 });
      assert.equal((await elsewhere.settle(sent(receipt), 1)).outcome, "unknown");
      assert.equal(await left(elsewhere, "tokens"), 9_900);
      const forged = { ...sent(receipt)!, descriptors: [{ entries: [["tokens", "b"] as const] }] };
      assert.equal((await engine.settle(forged, 1)).outcome, "unknown");
      assert.equal(await left(engine, "tokens"), 9_900);
    });
  });
}

describe("bodies that are not holdings", () => {
  const engine = ruleEngine({ rules: RULES });

  test("calls that could not give permits back name hold", () => {
    const error = {
      name: "PermitsNeededError",
      message: "Cannot decide as a rule with concurrency must be asked by hold or reserve: " +
        'current value is "stream"',
    };
    for (const verb of ["consume", "refund"] as const) {
      assert.throws(() => engine[verb](call(of("stream"))), error);
      assert.throws(() => engine[verb](call(of("request"), of("stream"))), error);
    }
    assert.throws(() => engine.consume({ ...call(of("both")), charge: true }), {
      name: "PermitsNeededError",
    });
  });

  test("forged receipts are refused by name, before anything is changed", async () => {
    const { receipt } = await engine.reserve(call(of("tokens")));
    const wrong: readonly [unknown, RegExp][] = [
      [undefined, /what hold or reserve answered/],
      [{ ...receipt, id: -1 }, /id must be/],
      [{ ...receipt, cost: 0.5 }, /cost must be/],
      [{ ...receipt, parts: {} }, /parts must be a list/],
      [{ ...receipt, parts: [{}] }, /receipt must come from reserve/],
      [{ ...receipt, descriptors: [] }, /at least one descriptor/],
      [{ ...receipt, descriptors: [{ entries: [["a", "b"]], limit: "blocked" }] }, /own/],
    ];
    for (const [forged, message] of wrong) {
      const settled = engine.settle(forged as RuleReceipt, 1);
      await assert.rejects(settled, { name: "MalformedRequestError", message });
    }
    await assert.rejects(engine.settle(receipt!, -1), RangeError);
  });

  test("where all rules are in the shadow everything is admitted", async () => {
    const shadow = ruleEngine({ rules: RULES, shadow: true });
    const { receipt } = await shadow.reserve(call(of("off"), of("stream", 5)));
    assert.deepEqual(receipt?.parts, []);
    assert.equal(await shadow.renew(receipt!), true);
  });
});
