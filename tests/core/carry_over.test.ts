import assert from "node:assert/strict";
import { describe, test } from "node:test";

import fc from "fast-check";
import { carryOver, haveLikeParts, takeOver } from "../../core/carry_over.ts";
import { subjects } from "../../adapters/testing/testing.ts";
import {
  type Algorithm,
  gcra,
  limiter,
  memoryStore,
  type OlderOptions,
  type ReplaceMode,
} from "../../mod.ts";
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
  const carried = olders.map((old) => carryOver(old, used, algorithm!, "keep", 4_990_000));
  assert.deepEqual(
    [taken(used, used, used), taken(undefined, used, used), taken(drained, undefined, used)],
    carried,
  );
  assert.equal(taken(drained, undefined, undefined), algorithm!.initial);
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

describe("a key takes the use over once", () => {
  const old = gcra({ limit: 100, period: "1h", burst: 100 });
  const made = () => {
    const time = { now: 0 };
    const options = { store: memoryStore(), prefix: "api", clock: () => time.now };
    const before = limiter(old, options);
    const after = limiter(gcra({ limit: 10, period: "1s", burst: 10 }), {
      ...options,
      replaces: { algorithm: old, mode: "keep" },
    });
    before.consume("key", 60);
    return { time, before, after };
  };

  test("however soon it is fresh under the new options", () => {
    const { time, after } = made();
    assert.equal(after.consume("key").allowed, false);
    for (let second = 1; second < 3_600; second += 60) {
      time.now = 1_000 * second;
      assert.equal(after.consume("key", 10).allowed, true, `${second}`);
    }
  });

  test("and leaves it where it was, so that processes with the older options count on", () => {
    const { before, after } = made();
    after.consume("key");
    assert.equal(before.peek("key", 0).remaining, 40);
    after.reset("key");
    assert.equal(after.peek("key", 0).remaining, 10);
    assert.equal(before.peek("key", 0).remaining, 100);
  });
});
