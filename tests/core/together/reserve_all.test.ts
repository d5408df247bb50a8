import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  all,
  concurrency,
  gcra,
  limiter,
  memoryStore,
  releaseAll,
  reservable,
  reserveAll,
  settleAll,
  type Store,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";

const rate = (limit: number) => reservable(gcra({ limit, period: "1m", burst: limit }));
/** As it travels to another process. */
const sent = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value));

function setup(store: Store) {
  const on = (prefix: string) => ({ store: store as never, prefix, clock });
  const clock = () => 1_000_000;
  const tokens = limiter(rate(1_000), on("tokens"));
  const calls = limiter(reservable(all(rate(9), rate(20))), on("calls"));
  const permits = limiter(concurrency({ limit: 2, ttl: "1m" }), on("permits"));
  const limiters = [tokens, calls, permits];
  const entries = [
    { limiter: tokens, key: "a", cost: 300 },
    { limiter: calls, key: "a" },
    { limiter: permits, key: "a" },
  ];
  const left = async () =>
    await Promise.all(limiters.map(async (each) => (await each.peek("a", 0)).remaining));
  return { limiters, entries, left };
}

for (const [kind, storeOf] of [["memory", memoryStore], ["promises", asyncMemoryStore]] as const) {
  describe(`reserveAll on ${kind}`, () => {
    test("takes units and permits together, and one settlement ends all of it", async () => {
      const { entries, left } = setup(storeOf());
      const { decision, receipt } = await reserveAll(entries);
      assert.deepEqual([decision.allowed, decision.parts?.length], [true, 3]);
      assert.deepEqual(await left(), [700, 8, 1]);
      const settled = await settleAll(receipt!, [120, undefined, undefined]);
      assert.deepEqual(settled.map(({ outcome }) => outcome), ["settled", "settled", "settled"]);
      assert.deepEqual(settled.map(({ returned }) => returned), [180, 0, 0]);
      assert.deepEqual(await left(), [880, 8, 2]);
      const again = await settleAll(receipt!, [0, 0, 0]);
      assert.deepEqual(again.map(({ outcome }) => outcome), ["unknown", "unknown", "unknown"]);
      assert.deepEqual(await left(), [880, 8, 2]);
    });

    test("charges what was used beyond the receipt, and releases all of another", async () => {
      const { entries, left } = setup(storeOf());
      const [one, other] = [await reserveAll(entries), await reserveAll(entries)];
      await settleAll(one.receipt!, [500, 3, undefined]);
      await releaseAll(other.receipt!);
      assert.deepEqual(await left(), [500, 6, 2]);
    });

    test("takes nothing of any where one refuses", async () => {
      const { entries, left } = setup(storeOf());
      const [tokens, calls, permits] = entries;
      const refused = await reserveAll([tokens!, { ...calls!, cost: 10 }, permits!]);
      assert.deepEqual([refused.decision.allowed, refused.receipt], [false, undefined]);
      assert.deepEqual(await left(), [1_000, 9, 2]);
    });

    test("gives a receipt that another process settles, with its limiters", async () => {
      const store = storeOf();
      const { entries, left } = setup(store);
      const receipt = sent((await reserveAll(entries)).receipt!);
      const elsewhere = setup(store).limiters;
      await assert.rejects(settleAll(receipt, [1, 1, 1]), /it needs the 3 limiters of the receipt/);
      await settleAll(receipt, [0, 0, 0], elsewhere);
      assert.deepEqual(await left(), [1_000, 9, 2]);
      const mixed = await releaseAll(receipt, [...elsewhere].reverse()).catch(String);
      assert.match(String(mixed), /reservable|object/);
    });

    test("requires limiters that can be settled, and receipts that are ones", async () => {
      const { entries, left } = setup(storeOf());
      const { store } = entries[0]!.limiter;
      const plain = limiter(gcra({ limit: 1, period: "1m", burst: 1 }), {
        store,
        prefix: "plain",
        clock: () => 0,
      });
      const wrong: readonly [unknown, RegExp][] = [
        [[], /at least one entry/],
        [[...entries, { limiter: plain, key: "a" }], /must be reservable/],
        [[entries[0], entries[0]], /each stored key must occur only once/],
        [[{ ...entries[0], key: "" }], /key/],
        [[{ ...entries[0], cost: -1 }], /cost/],
        [[{ ...entries[0], costs: 1 }], /costs/],
        [[entries[0], { key: "a" }], /limiter/],
      ];
      for (const [given, message] of wrong) {
        await assert.rejects(async () => await reserveAll(given as typeof entries), message);
      }
      const { receipt } = await reserveAll(entries);
      await assert.rejects(settleAll(receipt!, [1]), /used must be a list of 3/);
      await assert.rejects(settleAll(receipt!, [1, -1, 0]), RangeError);
      for (const forged of [undefined, {}, { parts: [] }, { parts: [{}] }]) {
        await assert.rejects(releaseAll(forged as never), /receipt must come from reserve/);
      }
      assert.deepEqual(await left(), [700, 8, 1]);
    });
  });
}
