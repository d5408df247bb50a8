import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { algorithms } from "../../../adapters/testing/testing.ts";
import { costOf, schedules, waitOf } from "../../../adapters/testing/arbitraries/schedules.ts";
import { gridsOf } from "../../../adapters/testing/testing.ts";
import {
  type Algorithm,
  all,
  block,
  blockable,
  dump,
  fixedWindow,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
  release,
  reservable,
  reserve,
  restore,
  settle,
  slidingLog,
  unblock,
} from "../../../mod.ts";
import { denyCache } from "../../../stores/layered/layered.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { fcOptions } from "../../support/seed.ts";

const hourly = gcra({ limit: 10, period: "1h", burst: 10 });
const log = slidingLog({ limit: 10, period: "1h" }) as Algorithm;
const NONE = { restored: 0, outdated: 0, full: 0, unreadable: 0 };

/** A limiter on a store, at an instant that stays. */
function on(store = memoryStore(), algorithm: Algorithm = hourly as Algorithm): Limiter {
  return limiter(algorithm, { store, prefix: "a", clock: () => 0 });
}

describe("a snapshot of a memoryStore", () => {
  test("has a line for each key, with its stored key, its state as text and when it is fresh", () => {
    const store = memoryStore();
    on(store).consume("user:42", 2);
    on(store, log).consume("{%\n}");
    const lines = [...dump(store)].map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(([name, text, freshAt]) => [name, text, Math.ceil(freshAt)]), [
      ["a:{user:42}:gcra/10/3600000", "t1 720000", 720_000],
      ["a:{%7B%25\n%7D}:slidingLog/3600000", "w1 0 1", 3_600_000],
    ]);
    assert.equal([...dump(store)].join("").includes("\n"), false);
  });

  test("read back, every key is decided as before: by limiters made before it, or after it", () => {
    const property = fc.property(
      algorithms(),
      schedules(),
      fc.boolean(),
      (subject, schedule, isOpen) => {
        const { algorithm } = subject;
        const store = memoryStore();
        let now = schedule.origin;
        const options = { prefix: "{a}%", clock: () => now };
        const first = limiter(algorithm, { ...options, store });
        for (const { wait, cost, charge } of schedule.moves) {
          const guide = { capacity: algorithm.capacity, grids: gridsOf(subject) };
          now = Math.max(now, Math.min(now + waitOf(wait, guide, now, undefined), 2 ** 42));
          const units = Math.max(0, costOf(cost, guide, undefined));
          if (charge) first.charge("{k}%", units);
          else first.consume("{k}%", units);
        }
        const again = memoryStore();
        const early = isOpen ? limiter(algorithm, { ...options, store: again }) : undefined;
        const { unreadable, full } = restore(again, dump(store), { now });
        assert.deepEqual([unreadable, full], [0, 0]);
        const second = early ?? limiter(algorithm, { ...options, store: again });
        assert.deepEqual(second.peek("{k}%", 1), first.peek("{k}%", 1));
        assert.deepEqual([...dump(again)].length, again.statistics().keys);
      },
    );
    fc.assert(property, fcOptions({ numRuns: 150 }));
  });

  test("waits as text for the limiter that knows it, and is dumped, forgotten and blocked so, too", () => {
    const store = memoryStore();
    const [, line = ""] = blockedLines();
    const again = memoryStore();
    assert.deepEqual(restore(again, [line], { now: 0 }), { ...NONE, restored: 1 });
    assert.deepEqual([...dump(again)], [line]);
    assert.equal(on(again, blockable(hourly) as Algorithm).consume("eve").remaining, 0);
    assert.deepEqual([...dump(again)], [line]);
    restore(again, [line.replace("b1", "b9")], { now: 0 });
    restore(store, [line.replace("b1", "b9")], { now: 0 });
    assert.equal(on(store, blockable(hourly) as Algorithm).peek("eve", 0).remaining, 10);
    assert.equal(store.statistics().unreadable, 1);
    assert.equal(store.statistics().keys, 0);
    restore(store, [line], { now: 0 });
    store.deleteAll?.("a");
    assert.equal(store.statistics().keys, 0);
  });

  test("an older snapshot takes no use back, whatever it holds beside use", () => {
    const daily = fixedWindow({ limit: 100, period: "1d" });
    let now = 3_600_000;
    const clock = () => now;
    const made = (algorithm: Algorithm) => {
      const store = memoryStore();
      return { store, api: limiter(algorithm, { store, prefix: "a", clock }) };
    };
    const open = made(reservable(daily, { within: "2d" }));
    const { receipt } = reserve(open.api, "ada", 1);
    const lines = [...dump(open.store)];
    settle(open.api, "ada", receipt!, 1);
    open.api.consume("ada", 99);
    assert.equal(restore(open.store, lines, { now }).restored, 0);
    assert.equal(open.api.peek("ada", 0).remaining, 0);

    const blocked = made(blockable(daily));
    for (const units of [100, 40]) {
      blocked.api.reset("ada");
      block(blocked.api as never, "ada", "2d");
      const old = [...dump(blocked.store)];
      unblock(blocked.api as never, "ada");
      blocked.api.consume("ada", units);
      restore(blocked.store, old, { now });
      unblock(blocked.api as never, "ada");
      assert.equal(blocked.api.peek("ada", 0).remaining, 100 - units);
    }

    const slow = gcra({ limit: 100, period: "1d", burst: 100 });
    const both = made(all(hourly, slow));
    now = 0;
    both.api.charge("ada", 20);
    const { resetAfter } = both.api.peek("ada", 0);
    now = 7_200_000;
    const other = made(all(hourly, slow));
    other.api.consume("ada", 10);
    assert.equal(restore(both.store, dump(other.store), { now }).restored, 1);
    assert.deepEqual(both.api.peek("ada", 0).parts?.map(({ remaining }) => remaining), [0, 88]);
    // The key is kept for as long as the older use lasts.
    const [line] = dump(both.store);
    assert.equal(Math.ceil(JSON.parse(line!)[2]), resetAfter);
  });

  test("a held key keeps the state with less left; before its limiter is made, that fresh later", () => {
    const store = memoryStore();
    const api = on(store);
    api.consume("ada", 3);
    const old = [...dump(store)];
    api.consume("ada", 2);
    assert.deepEqual(restore(store, old, { now: 0 }), { ...NONE, outdated: 1 });
    assert.equal(api.peek("ada", 0).remaining, 5);
    const newer = [...dump(store)];
    api.reset("ada");
    api.consume("ada");
    assert.deepEqual(restore(store, newer, { now: 0 }), { ...NONE, restored: 1 });
    assert.equal(api.peek("ada", 0).remaining, 5);
  });

  test("lines of another shape and fresh keys are skipped and counted", async () => {
    const good = blockedLines();
    const bad = [
      "",
      "{",
      "null",
      "[]",
      '"a"',
      '["a:{b}:c","t1 5"]',
      '["a:{b}:c","t1 5",5,6]',
      '["a:{b}:c",7,9000]',
      '["a:{b}:c","t1 5","9000"]',
      '["a:{b}:c","t1 5",-1]',
      '["a:{b}:c","t1 5",1e300]',
      '["a:{}:c","t1 5",9000]',
      '["a:b:c","t1 5",9000]',
      '["a:{b{}:c","t1 5",9000]',
      good[0]!.slice(0, -4),
    ];
    const store = memoryStore();
    const api = on(store);
    api.consume("ada");
    const unknown = '["a:{ada}:gcra/10/3600000","t9",900000]';
    const lines = [...bad, ...good, unknown, '["a:{old}:c","t1 5",1000]'];
    const expected = { restored: 2, outdated: 1, full: 0, unreadable: bad.length + 1 };
    assert.deepEqual(restore(store, lines, { now: 1_000 }), expected);
    assert.equal(api.peek("ada", 0).remaining, 9);
    const later = memoryStore();
    async function* slowly() {
      for (const line of lines) yield await Promise.resolve(line);
    }
    // Without a limiter nobody knows yet that a text of another version is not a state.
    const found = await restore(later, slowly(), { now: 1_000 });
    assert.deepEqual(found, { ...expected, restored: 3, unreadable: bad.length });
    // By the time of the store all of it is long fresh.
    assert.deepEqual(restore(memoryStore(), good), { ...NONE, outdated: 2 });
  });

  test("a full store takes no more, and forgets nobody for it", () => {
    const store = memoryStore({ maxKeys: 2 });
    const api = on(store);
    api.consume("ada", 5);
    const lines = ["x", "y", "z"].map((key) => `["b:{${key}}:c","t1 5",9000]`);
    assert.deepEqual(restore(store, lines, { now: 0 }), { ...NONE, restored: 1, full: 2 });
    assert.deepEqual([store.statistics().evictions, api.peek("ada").remaining], [0, 4]);
  });

  test("options are checked, and neither another store nor a closed one has any", () => {
    const store = memoryStore();
    assert.throws(() => restore(store, [], { at: 5 } as never), TypeError);
    assert.throws(() => restore(store, [], { now: NaN }), RangeError);
    const other = sharedStore({ capacity: 64 }) as never;
    for (const wrong of [other, undefined as never]) {
      assert.throws(
        () => [...dump(wrong)],
        /Cannot dump a store as its store must be a memoryStore/,
      );
      assert.throws(() => restore(wrong, ["[]"]), TypeError);
    }
    const around = denyCache(store) as typeof store;
    on(store).consume("ada");
    assert.deepEqual([...dump(around)], [...dump(store)], "a store made of it has its keys");
    store.close();
    assert.throws(() => restore(store, ["[]"]), { name: "StoreUnavailableError" });
    assert.throws(() => [...dump(store)], { name: "StoreUnavailableError" });
  });
});

/** Two lines, the second of a key that is blocked. */
function blockedLines(): string[] {
  const store = memoryStore();
  const api = on(store, blockable(hourly) as Algorithm);
  api.consume("ada");
  block(api as never, "eve", "1h");
  return [...dump(store)];
}

for (const algorithm of [reservable(hourly), reservable(log)]) {
  test(`open receipts of ${algorithm.id} survive a snapshot, whenever their family is opened`, () => {
    const now = 1_764_000_000_000;
    const options = { prefix: "api", clock: () => now };
    const before = memoryStore();
    const api = limiter(algorithm, { ...options, store: before });
    const { receipt: settled } = reserve(api, "user:42", 8);
    const { receipt: open } = reserve(api, "user:42", 1);
    assert.equal(settle(api, "user:42", settled!, 5).returned, 3);
    const lines = [...dump(before)];
    for (const isOpened of [true, false]) {
      const after = memoryStore();
      if (isOpened) limiter(algorithm, { ...options, store: after }).consume("another");
      assert.equal(restore(after, lines, { now }).restored, 1);
      const restored = limiter(algorithm, { ...options, store: after });
      assert.equal(restored.peek("user:42", 0).remaining, 4);
      assert.equal(release(restored, "user:42", settled!).outcome, "unknown");
      assert.equal(release(restored, "user:42", open!).returned, 1);
      assert.equal(release(restored, "user:42", open!).outcome, "unknown");
      assert.equal(restored.peek("user:42", 0).remaining, 5);
    }
  });
}
