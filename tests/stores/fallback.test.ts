import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { storeLaws } from "../../adapters/testing/mod.ts";
import {
  all,
  consumeAll,
  ContentionError,
  gcra,
  limiter,
  memoryStore,
  StoreUnavailableError,
  type SyncStore,
} from "../../mod.ts";
import { denyCache, fallback, lease } from "../../stores/stores.ts";
import { fcOptions } from "../support/seed.ts";

/** A store that can be made to fail. */
function breakable(): SyncStore & { error: Error | undefined } {
  const inner = memoryStore();
  const made = {
    ...inner,
    error: undefined as Error | undefined,
    run: (...call: Parameters<SyncStore["run"]>) => {
      if (made.error !== undefined) throw made.error;
      return inner.run(...call);
    },
    lane: undefined,
    delete: (key: string) => {
      if (made.error !== undefined) throw made.error;
      return inner.delete(key);
    },
  };
  return made;
}

const away = new StoreUnavailableError("Cannot decide", "no");
const hourly = gcra({ limit: 100, period: "100h" });

for (const law of storeLaws(() => fallback(memoryStore(), memoryStore(), { share: 1 }))) {
  test(`fallback: ${law.name}`, () => law.run(fcOptions({ numRuns: 30 })));
}

describe("fallback", () => {
  test("lets the other store decide about its share while the first is away, and says so", () => {
    const first = breakable();
    const store = fallback(first, memoryStore(), { share: 1 / 4 });
    const api = limiter(hourly, { store, prefix: "a" });
    assert.equal(api.consume("k").source, undefined);
    first.error = away;
    const decision = api.consume("k");
    assert.deepEqual(
      [decision.allowed, decision.source, decision.limit, decision.remaining],
      [true, "fallback", 25, 24],
    );
    let admitted = 1;
    while (api.consume("k").allowed) admitted++;
    assert.equal(admitted, 25);
    first.error = undefined;
    assert.equal(api.consume("k").remaining, 98);
  });

  test("takes several keys all or nothing", () => {
    const first = breakable();
    const store = fallback(first, memoryStore(), { share: 1 / 2 });
    first.error = away;
    const one = limiter(gcra({ limit: 2, period: "1h" }), { store, prefix: "one" });
    const two = limiter(gcra({ limit: 8, period: "1h" }), { store, prefix: "two" });
    const entries = [{ limiter: one, key: "k" }, { limiter: two, key: "k" }];
    assert.equal(consumeAll(entries).allowed, true);
    const refused = consumeAll(entries);
    assert.deepEqual([refused.allowed, refused.source], [false, "fallback"]);
    assert.equal(two.peek("k", 0).remaining, 3);
  });

  test("shares each part of several limits", () => {
    const first = breakable();
    const store = fallback(first, memoryStore(), { share: 1 / 2 });
    first.error = away;
    const both = all(gcra({ limit: 4, period: "1h" }), gcra({ limit: 10, period: "1h" }));
    const decision = limiter(both, { store, prefix: "a" }).consume("k");
    assert.deepEqual(decision.parts?.map(({ remaining }) => remaining), [1, 4]);
  });

  test("passes on every other error, and a reset that could not be done", () => {
    const first = breakable();
    const store = fallback(first, memoryStore(), { share: 1 });
    const api = limiter(hourly, { store, prefix: "a" });
    first.error = new ContentionError("Cannot decide");
    assert.throws(() => api.consume("k"), ContentionError);
    first.error = away;
    assert.throws(() => api.reset("k"), StoreUnavailableError);
  });

  test("does not accept a limit of which the share is less than one unit", () => {
    const store = fallback(memoryStore(), memoryStore(), { share: 1 / 4 });
    const paced = gcra({ limit: 100, period: "1m", burst: 3 });
    assert.throws(() => limiter(paced, { store, prefix: "a" }), RangeError);
  });

  test("composes with the others", () => {
    const first = breakable();
    const leased = lease(fallback(first, memoryStore(), { share: 1 / 2 }), {
      units: 5,
      ttl: "1h",
    });
    const api = limiter(hourly, { store: denyCache(leased), prefix: "a", clock: () => 0 });
    first.error = away;
    let admitted = 0;
    while (api.consume("k").allowed) admitted++;
    assert.equal(admitted, 50);
  });

  for (const share of [0, -1, 1.1, NaN]) {
    test(`refuses a share of ${share}`, () => {
      assert.throws(() => fallback(memoryStore(), memoryStore(), { share }), RangeError);
    });
  }
});
