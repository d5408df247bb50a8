import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { storeLaws } from "../../../adapters/testing/testing.ts";
import {
  type Algorithm,
  all,
  concurrency,
  consumeAll,
  ContentionError,
  type Decision,
  gcra,
  hold,
  limiter,
  memoryStore,
  slidingLog,
  StoreFullError,
  StoreUnavailableError,
  type SyncStore,
} from "../../../mod.ts";
import { internalsOf } from "../../../core/limiter/limiter_internals.ts";
import { refund } from "../../../core/verbs/refund.ts";
import { fallback, lease } from "../../../stores/layered/layered.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { fcOptions } from "../../support/seed.ts";
import { atOnce, away, byPromise, hourly, probe } from "./probe.ts";

for (const law of storeLaws(() => fallback(memoryStore(), memoryStore(), { share: 1 }))) {
  test(`fallback: ${law.name}`, () => law.run(fcOptions({ numRuns: 30 })));
}

/** A limiter on a fallback to a share of its limit, and the first store. */
function fallingBack(
  share: number,
  algorithm: Algorithm = hourly,
  other: SyncStore = memoryStore(),
) {
  const first = probe();
  const store = fallback(first.store, other, { share });
  return { first, store, api: limiter(algorithm, { store, prefix: "a", clock: () => 0 }) };
}

describe("fallback", () => {
  test("lets the other store decide about its share while the first is away, and says so", () => {
    const { first, api } = fallingBack(1 / 4);
    assert.equal(api.consume("k").source, undefined);
    first.failure = away;
    const decision = api.consume("k");
    assert.deepEqual(
      [decision.allowed, decision.source, decision.limit, decision.remaining],
      [true, "fallback", 25, 24],
    );
    let admitted = 1;
    while (api.consume("k").allowed) admitted++;
    assert.equal(admitted, 25);
    first.failure = undefined;
    assert.equal(api.consume("k").remaining, 98);
  });

  test("takes several keys all or nothing", () => {
    const { first, store } = fallingBack(1 / 2);
    first.failure = away;
    const one = limiter(gcra({ limit: 2, period: "1h", burst: 2 }), { store, prefix: "one" });
    const two = limiter(gcra({ limit: 8, period: "1h", burst: 8 }), { store, prefix: "two" });
    const entries = [{ limiter: one, key: "k" }, { limiter: two, key: "k" }];
    assert.equal(consumeAll(entries).allowed, true);
    const refused = consumeAll(entries);
    assert.deepEqual([refused.allowed, refused.source], [false, "fallback"]);
    assert.equal(two.peek("k", 0).remaining, 3);
  });

  test("shares each part of several limits, and says so of each", () => {
    const both = all(
      gcra({ limit: 4, period: "1h", burst: 4 }),
      gcra({ limit: 10, period: "1h", burst: 10 }),
    );
    const { first, api } = fallingBack(1 / 2, both);
    first.failure = away;
    const { parts } = api.consume("k");
    assert.deepEqual(parts?.map(({ remaining }) => remaining), [1, 4]);
    assert.deepEqual(parts?.map(({ source }) => source), ["fallback", "fallback"]);
  });

  test("shares a log of many instants on every store", async () => {
    const log = slidingLog({ limit: 40, period: "365d" });
    for (const other of [memoryStore(), sharedStore({ capacity: 100 })]) {
      const { first, store, api } = fallingBack(1 / 4, log, other);
      first.failure = away;
      assert.equal(api.consume("k", 10).allowed, true);
      assert.equal(api.consume("k").allowed, false);
      await store.close();
    }
  });

  test("gives back together what it lent, each key's to the store that holds its use", () => {
    const { first, store, api } = fallingBack(1);
    const other = limiter(gcra({ limit: 8, period: "1h", burst: 8 }), {
      store,
      prefix: "b",
      clock: () => 0,
    });
    const give = (units: number) =>
      store.run(
        [api, other].map((each) => ({
          bound: internalsOf(each)!.family.bind(refund),
          key: "k",
          argument: units,
        })),
        0,
      ) as readonly Decision[];
    api.consume("k", 9);
    other.consume("k", 5);
    first.failure = away;
    api.consume("k", 3);
    first.failure = undefined;
    const answers = give(3);
    assert.deepEqual(answers.map(({ allowed, source }) => [allowed, source]), [
      [true, undefined],
      [true, undefined],
    ]);
    // The first store lent nothing under one key, and gets nothing back there.
    assert.deepEqual(answers.map(({ remaining }) => remaining), [91, 6]);
    assert.deepEqual([api.peek("k", 0).remaining, other.peek("k", 0).remaining], [91, 6]);
    assert.deepEqual(give(1).map(({ remaining }) => remaining), [92, 7]);
    first.failure = away;
    assert.deepEqual(give(1).map(({ source }) => source), ["fallback", "fallback"]);
  });

  test("passes on every other error, and a reset that could not be done", () => {
    const { first, api } = fallingBack(1);
    first.failure = new StoreFullError("Cannot decide");
    assert.throws(() => api.consume("k"), StoreFullError);
    first.failure = away;
    assert.throws(() => api.reset("k"), StoreUnavailableError);
  });

  test("accepts every share that is at least one unit, and no smaller one", () => {
    for (let servers = 1; servers <= 100; servers++) {
      const { first, api } = fallingBack(
        1 / servers,
        gcra({ limit: servers, period: "1h", burst: servers }),
      );
      first.failure = away;
      assert.deepEqual([api.consume("k").allowed, api.consume("k").allowed], [true, false]);
      const less = gcra({ limit: servers, period: "1h", burst: Math.max(1, servers - 1) });
      if (servers > 1) assert.throws(() => fallingBack(1 / servers, less), RangeError);
    }
  });

  test("lets the other store decide where the first lost every race, too", () => {
    const { first, api } = fallingBack(1 / 4);
    first.failure = new ContentionError("Cannot decide");
    assert.deepEqual([api.consume("k").source, api.consume("k").remaining], ["fallback", 23]);
    const entries = [{ limiter: api, key: "k" }, { limiter: api, key: "l" }];
    assert.equal(consumeAll(entries).source, "fallback");
    assert.throws(() => api.reset("k"), ContentionError);
  });

  for (const algorithm of [hourly, slidingLog({ limit: 100, period: "100h" })]) {
    test(`gives units that the other store lent back to that store: ${algorithm.id}`, () => {
      const { first, store } = fallingBack(1 / 4);
      const api = limiter(algorithm, { store, prefix: "a", clock: () => 0 });
      api.consume("k", 100);
      first.failure = away;
      assert.equal(api.consume("k", 5).remaining, 20);
      assert.deepEqual([api.refund("k", 2).remaining, api.peek("k", 0).remaining], [22, 22]);
      first.failure = undefined;
      // Three were lent; whatever is given back first is theirs.
      assert.deepEqual([api.refund("k").remaining, api.refund("k", 2).remaining], [0, 0]);
      const { remaining, source } = api.refund("k", 4);
      assert.deepEqual([remaining, source], [4, undefined]);
      first.failure = away;
      assert.equal(api.peek("k", 0).remaining, 25);
    });
  }

  test("releases each permit on the store that holds it, whatever the other one holds", () => {
    const jobs = concurrency({ limit: 2, ttl: "1m" });
    const { first, store } = fallingBack(1);
    const api = limiter(jobs, { store, prefix: "a", clock: () => 0 });
    const { permit: own } = hold(api, "k");
    first.failure = away;
    const { permit: lent } = hold(api, "k");
    first.failure = undefined;
    own!.release();
    assert.equal(api.peek("k", 0).remaining, 2);
    first.failure = away;
    assert.equal(api.peek("k", 0).remaining, 1);
    lent!.release();
    assert.equal(api.peek("k", 0).remaining, 2);
  });

  test("gives back to the first store when the other one is away", () => {
    const second = probe();
    const api = limiter(hourly, {
      store: fallback(memoryStore(), second.store, { share: 1 }),
      prefix: "a",
    });
    api.consume("k", 3);
    second.failure = away;
    assert.equal(api.refund("k", 2).remaining, 99);
  });

  test("answers a refund by a promise where the first store does", async () => {
    const store = fallback(probe(byPromise).store, memoryStore(), { share: 1 });
    const refund: unknown = limiter(hourly, { store, prefix: "a" }).refund("k");
    assert.ok(refund instanceof Promise);
    assert.equal((await refund).remaining, 100);
  });

  test("below a lease, an outage does not end the blocks", () => {
    let now = 0;
    const shared = memoryStore();
    const first = probe(atOnce, shared);
    const store = lease(fallback(first.store, memoryStore(), { share: 1 / 4 }), {
      units: 40,
      ttl: 50,
    });
    const clock = () => now;
    const api = limiter(hourly, { store, prefix: "a", clock });
    const exact = limiter(hourly, { store: shared, prefix: "a", clock });
    first.failure = away;
    assert.deepEqual([api.consume("k").source, api.consume("k").remaining], ["fallback", 23]);
    first.failure = undefined;
    now = 50;
    assert.equal(api.consume("k").source, undefined);
    assert.equal(exact.peek("k", 0).remaining, 99);
  });

  test("above a lease, each call of a crowd whose block fails is admitted on its own", async () => {
    const first = probe(byPromise);
    first.failure = away;
    const leased = lease(first.store, { units: 10, ttl: "1h" });
    const store = fallback(leased, memoryStore(), { share: 1 / 4 });
    const api = limiter(hourly, { store, prefix: "a", clock: () => 0 });
    const decisions = await Promise.all(Array.from({ length: 30 }, () => api.consume("k")));
    assert.ok(decisions.every(({ source }) => source === "fallback"));
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 25);
  });

  test("refuses an invalid share", () => {
    for (const share of [0, -1, 1.1, NaN]) {
      assert.throws(() => fallback(memoryStore(), memoryStore(), { share }), RangeError);
    }
  });
});
