import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";
import { carryOver, haveLikeParts, takeOver } from "../../core/carry_over.ts";
import { subjects } from "../../adapters/testing/testing.ts";
import {
  type Algorithm,
  all,
  fixedWindow,
  gcra,
  limiter,
  lockout,
  memoryStore,
  type OlderOptions,
  type ReplaceMode,
  slidingCounter,
  slidingLog,
  slidingWindow,
} from "../../mod.ts";
import type { Decision } from "../../core/decision.ts";
import { fcOptions } from "../support/seed.ts";

const LAST_INSTANT = 2 ** 42;

test("under replaces, too, retryAfter is the first admitting millisecond", () => {
  const any = fc.oneof(...Object.values(subjects).map((arbitrary) => arbitrary()));
  const pair = fc.tuple(any, any)
    .filter(([{ algorithm: old }, { algorithm }]) =>
      old.id !== algorithm.id && haveLikeParts(old, algorithm)
    );
  const mode = fc.constantFrom<ReplaceMode>("keep", "proportional");
  const share = fc.nat(1_000);
  fc.assert(
    fc.property(pair, mode, share, share, ([{ algorithm: old }, newer], mode, used, taken) => {
      const { algorithm } = newer;
      let now = 1_790_000_123_457;
      const options = { store: memoryStore(), prefix: "api", clock: () => now };
      const before = limiter(old, options);
      const after = limiter(algorithm, { ...options, replaces: { algorithm: old, mode } });
      before.consume("key", Math.ceil(old.capacity * used / 1_000));
      const cost = Math.max(1, Math.ceil(algorithm.capacity * taken / 1_000));
      const { allowed, retryAfter } = after.consume("key", cost);
      if (allowed || now + retryAfter > LAST_INSTANT) return;
      now += retryAfter - 1;
      assert.equal(after.consume("key", cost).allowed, false);
      now += 1;
      assert.equal(after.consume("key", cost).allowed, true);
    }),
    fcOptions({ numRuns: 300 }),
  );
});

const MINUTE = 60_000;

/** A limiter that takes over, in a store in which a key has used units at these minutes. */
function afterUse(
  older: Algorithm,
  newer: Algorithm,
  mode: ReplaceMode,
  minutes: readonly number[],
) {
  const time = { now: 0 };
  const options = { store: memoryStore(), prefix: "api", clock: () => time.now };
  const before = limiter(older, options);
  for (const minute of minutes) {
    time.now = minute * MINUTE;
    before.consume("key");
  }
  return { time, after: limiter(newer, { ...options, replaces: { algorithm: older, mode } }) };
}

const changes: readonly [string, (limit: number) => Algorithm][] = [
  ["slidingLog", (limit) => slidingLog({ limit, period: "1h" }) as Algorithm],
  [
    "slidingWindow",
    (limit) => slidingWindow({ limit, period: "1h", precision: "1m" }) as Algorithm,
  ],
  ["fixedWindow", (limit) => fixedWindow({ limit, period: "1h", anchor: "first" }) as Algorithm],
  [
    "part",
    (limit) =>
      all(gcra({ limit: 100, period: "1s", burst: 100 }), slidingLog({ limit, period: "1h" })),
  ],
];
for (const [name, make] of changes) {
  for (const [limit, mode] of [[4, "keep"], [2, "keep"], [8, "proportional"]] as const) {
    test(`${name}: a changed limit (${limit}, ${mode}) moves no instant`, () => {
      const { time, after } = afterUse(make(4), make(limit), mode, [0, 1, 58, 58]);
      time.now = 59 * MINUTE;
      assert.equal(after.consume("key").allowed, false);
      const used = limit === 8 ? [8, 6, 4] : limit === 4 ? [4, 3, 2] : [2, 2, 2];
      const seen = [59, 60, 61].map((minute) => {
        time.now = minute * MINUTE;
        const { remaining, parts } = after.peek("key", 0);
        return limit - (parts?.[1]?.remaining ?? remaining);
      });
      assert.deepEqual(seen, name === "fixedWindow" ? [limit, 0, 0] : used);
    });
  }
}

for (const limit of [1, 2, 3, 10]) {
  test(`a lock goes on as it was under a limit of ${limit}`, () => {
    const make = (limit: number) => lockout({ limit, period: "10m", lock: "1h" }) as Algorithm;
    const { time, after } = afterUse(make(3), make(limit), "keep", [0, 1, 2]);
    time.now = 30 * MINUTE;
    const { allowed, retryAfter } = after.consume("key");
    assert.deepEqual([allowed, retryAfter], [false, 32 * MINUTE]);
    time.now = 62 * MINUTE;
    assert.equal(after.consume("key").allowed, true);
  });
}

test("tries that do not lock stay where they were, and lock at once if they are enough", () => {
  const make = (limit: number) => lockout({ limit, period: "10m", lock: "1h" }) as Algorithm;
  const larger = afterUse(make(3), make(4), "keep", [0, 1]);
  larger.time.now = 9 * MINUTE;
  assert.equal(larger.after.consume("key").remaining, 1);
  larger.time.now = 10 * MINUTE;
  assert.equal(larger.after.peek("key", 0).remaining, 4);

  const smaller = afterUse(make(3), make(2), "keep", [0, 1]);
  smaller.time.now = 9 * MINUTE;
  assert.equal(smaller.after.consume("key").retryAfter, 60 * MINUTE);
});

test("a chain of older options, the newest first; equal ones are nothing to do", () => {
  const [oldest, older, newest] = [10, 20, 30].map((limit) =>
    gcra({ limit, period: "1h", burst: limit })
  );
  const options = { store: memoryStore(), prefix: "api", clock: () => 1_000 };
  const replaces: OlderOptions[] = [newest!, older!, oldest!].map((algorithm) => ({
    algorithm: algorithm as Algorithm,
    mode: "keep",
  }));
  limiter(oldest!, options).consume("a", 3);
  limiter(older!, options).consume("b", 4);
  const now = limiter(newest!, { ...options, replaces });
  assert.deepEqual(["a", "b", "c"].map((key) => now.consume(key).remaining), [26, 25, 29]);
});

test("a key takes over from the first of its older options under which it holds use", () => {
  const [algorithm, ...olders] = [10, 20, 30, 40].map((limit) =>
    gcra({ limit, period: "1m", burst: limit })
  );
  const older = olders.map((algorithm) => ({ algorithm, mode: "keep" as const }));
  const [drained, used] = [1_000, 5_000_000];
  const taken = (...held: readonly (number | undefined)[]) =>
    takeOver({ prefix: "api", algorithm: algorithm!, older }, (index) => held[index], 4_990_000);
  assert.equal(taken(used, used, used)?.index, 0);
  assert.equal(taken(undefined, used, used)?.index, 1);
  assert.equal(taken(drained, undefined, used)?.index, 2);
  assert.equal(taken(drained, undefined, undefined), undefined);
});

test("use above the new capacity is carried over as that, and debt beside it", () => {
  const [one, ten] = [1, 10].map((limit): Algorithm =>
    gcra({ limit, period: "1m", burst: limit }) as Algorithm
  );
  const left = (units: number) => {
    const [, state] = ten!.charge(ten!.initial, 0, units);
    const { debt, resetAfter } = one!.step(carryOver(ten!, state, one!, "keep", 0), 0, 0)[0];
    return [debt, resetAfter];
  };
  assert.deepEqual([1, 9, 10, 12].map(left), [[0, 60_000], [0, 60_000], [0, 60_000], [2, 180_000]]);
});

test("slidingCounter: a larger limit finds the use that it would have, now and as it fades", () => {
  const counter = (limit: number) => slidingCounter({ limit, period: 1_000 });
  const calls = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 1_500 }), fc.integer({ min: 1, max: 9 })),
    {
      minLength: 1,
      maxLength: 8,
    },
  );
  fc.assert(
    fc.property(calls, fc.nat(900), fc.nat(2_500), (calls, wait, later) => {
      let now = 5_000;
      const [older, newer] = [counter(40), counter(60)];
      let [old, same] = [older.initial, newer.initial];
      for (const [pause, cost] of calls) {
        now += pause;
        const [decision, next] = older.step(old, now, cost);
        old = next;
        if (decision.allowed) [, same] = newer.step(same, now, cost);
      }
      now += wait;
      const carried = carryOver(older, old, newer, "keep", now);
      for (const at of [now, now + later]) {
        const shown = ({ remaining, debt, resetAfter }: Decision) => ({
          remaining,
          debt,
          resetAfter,
        });
        const [decisions, expected] = [carried, same].map((state) =>
          shown(newer.step(state, at, 0)[0])
        );
        assert.deepEqual(decisions, expected);
      }
    }),
    fcOptions(),
  );
});

for (const [limit, mode, used] of [[30, "keep", 30], [80, "proportional", 70]] as const) {
  test(`slidingCounter: ${limit} of 40 before, ${mode}: nothing is owed, and use fades in its time`, () => {
    const [older, newer] = [40, limit].map((limit) => slidingCounter({ limit, period: 1_000 }));
    const [, first] = older!.step(older!.initial, 0, 30);
    const [, second] = older!.step(first, 1_500, 20);
    const carried = carryOver(older!, second, newer!, mode, 1_500);
    const [{ remaining, debt, resetAfter }] = newer!.step(carried, 1_500, 0);
    assert.deepEqual([limit - remaining, debt, resetAfter], [used, 0, 1_500]);
  });
}
