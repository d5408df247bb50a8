import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import { limiter, memoryStore } from "../../../mod.ts";
import { fallback, lease } from "../../../stores/layered/layered.ts";
import { away, hourly, probe } from "./probe.ts";

describe("a charge goes through", () => {
  test("lease, and does not touch the block that is held", () => {
    const inner = memoryStore();
    const options = { prefix: "api", clock: virtualClock(0) };
    const store = lease(inner, { units: 10, ttl: "50ms" });
    const calls = limiter(hourly, { store, ...options });
    const exact = limiter(hourly, { store: inner, ...options });
    for (const cost of [10, 1]) calls.consume("a", cost);
    assert.equal(exact.peek("a", 0).remaining, 80);
    assert.equal(calls.charge("a", 85).debt, 5);
    for (let call = 0; call < 9; call++) assert.equal(calls.consume("a").allowed, true);
    assert.equal(calls.consume("a").debt, 5);
  });

  test("fallback, which charges the share while the first store is away", () => {
    const first = probe();
    const store = fallback(first.store, memoryStore(), { share: 1 / 4 });
    const calls = limiter(hourly, { store, prefix: "api", clock: virtualClock(0) });
    first.failure = away;
    const charged = calls.charge("a", 30);
    assert.deepEqual([charged.debt, charged.source, charged.limit], [5, "fallback", 25]);
    assert.equal(calls.refund("a", 6).remaining, 1);
    first.failure = undefined;
    assert.equal(calls.charge("a", 101).debt, 1);
  });
});
