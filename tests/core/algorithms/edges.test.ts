import assert from "node:assert/strict";
import { test } from "node:test";

import { combineDecisions } from "../../../core/algorithms/combine_decisions.ts";
import {
  type Algorithm,
  all,
  consumeAll,
  fixedWindow,
  gcra,
  limiter,
  memoryStore,
  slidingCounter,
} from "../../../mod.ts";
import { keyOf } from "../../support/key_of.ts";

test("the smallest capacity of several keys is the capacity of all, and nothing is to come once it is reached", () => {
  const options = { store: memoryStore(), clock: () => 5_000 };
  const two = limiter(gcra({ limit: 2, period: "1m", burst: 2 }), { ...options, prefix: "two" });
  const three = limiter(gcra({ limit: 3, period: "1m", burst: 3 }), {
    ...options,
    prefix: "three",
  });
  three.consume("key");
  for (const limiters of [[two, three], [three, two]]) {
    const look = consumeAll(limiters.map((limiter) => ({ limiter, key: "key", cost: 0 })));
    assert.deepEqual([look.remaining, look.nextAfter], [2, 0]);
  }
});

test("the same of all: the larger one has as much left as the smallest admits in total", () => {
  for (const order of [0, 1]) {
    const parts = [
      fixedWindow({ limit: 5, period: "1s" }),
      fixedWindow({ limit: 10, period: "1m" }),
    ];
    const call = keyOf(all(...(order === 0 ? parts : parts.reverse())) as Algorithm);
    assert.equal(call(0, 5).nextAfter, 1_000);
    // Only the shorter window is over.
    const { remaining, nextAfter, resetAfter } = call(1_000, 0);
    assert.deepEqual([remaining, nextAfter, resetAfter], [5, 0, 59_000]);
  }
});

test("a decision of several names the source that answered in place of the store, whichever part it was", () => {
  const own = gcra({ limit: 2, period: "1m", burst: 2 }).step(0, 0, 1)[0];
  const other = { ...own, source: "fallback" } as const;
  for (const parts of [[own, other], [other, own]]) {
    assert.equal(combineDecisions(parts, 2).source, "fallback");
  }
  assert.equal(combineDecisions([own, own], 2).source, undefined);
});

test("a refund one window later gives back no units that have faded", () => {
  const { initial, step } = slidingCounter({ limit: 10, period: 1_000 });
  const [, first] = step(initial, 500, 5);
  const [, second] = step(first, 1_500, 3);
  assert.equal(step(second, 2_500, -3)[1], initial);
  assert.equal(step(second, 2_500, -8)[1], initial);
  // In its own window a refund reaches the units of the one before.
  assert.equal(step(second, 1_500, -4)[0].remaining, 8);
});

test("a window's use is one number as far as that is exact, and two beyond, whatever the limit", () => {
  const limit = 2_050;
  const { initial, step } = fixedWindow({ limit, period: 1_000, anchor: "first" });
  let state = initial;
  for (let used = 1; used <= limit; used++) {
    const [{ allowed, remaining }, next] = step(state, 2 ** 42, 1);
    assert.deepEqual([allowed, remaining], [true, limit - used]);
    assert.equal(typeof next, used <= 2_047 ? "number" : "object");
    state = next;
  }
  assert.equal(step(state, 2 ** 42, 1)[0].allowed, false);
  assert.equal(typeof step(state, 2 ** 42, -3)[1], "number");
});
