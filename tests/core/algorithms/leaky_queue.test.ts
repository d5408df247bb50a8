import assert from "node:assert/strict";
import { test } from "node:test";

import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { leakyQueue } from "../../../mod.ts";
import { keyOf } from "../../support/key_of.ts";

const rate = { limit: 10, period: "1s" } as const;

test("leakyQueue starts a burst at once, makes the next ones wait and refuses what does not fit", () => {
  // nginx: rate=10r/s burst=5 delay=2.
  const call = keyOf(leakyQueue({ ...rate, queue: 3, burst: 3 }));
  const answers = Array.from({ length: 7 }, () => call(0, 1));
  assert.deepEqual(answers.map(({ allowed }) => allowed), [...Array(6).fill(true), false]);
  assert.deepEqual(answers.map(({ delay }) => delay), [0, 0, 0, 100, 200, 300, 0]);
  assert.equal(answers[6]!.retryAfter, 100);
  // One has drained, and so waits behind the other two of the queue.
  assert.equal(call(100, 1).delay, 300);
  // Idle for long enough, the key starts a burst at once again.
  assert.deepEqual([1, 1, 1, 1].map((cost) => call(10_000, cost).delay), [0, 0, 0, 100]);
});

test("a cost starts with its first place", () => {
  const call = keyOf(leakyQueue({ ...rate, queue: 3, burst: 2 }));
  assert.equal(call(0, 4).delay, 0);
  assert.equal(call(0, 1).delay, 300);
});

test("a burst of 1 is the queue as it was: the same id, the same states, the same answers", () => {
  const one = leakyQueue({ ...rate, queue: 3 });
  const other = leakyQueue({ ...rate, queue: 3, burst: 1 });
  assert.equal(one.id, "leakyQueue/10/1000");
  assert.equal(other.id, one.id);
  assert.equal(leakyQueue({ ...rate, queue: 3, burst: 2 }).id, "leakyQueue/10/1000");
  let [state, same] = [one.initial, other.initial];
  for (let now = 0; now < 500; now += 50) {
    const [answer, next] = one.step(state, now, 1);
    assert.deepEqual(other.step(same, now, 1), [answer, next]);
    [state, same] = [next, next];
  }
});

test("a queue delays calls whatever its burst, and a burst without a queue delays none", () => {
  assert.equal(mayDelay(leakyQueue({ ...rate, queue: 1, burst: 1_000 })), true);
  assert.equal(mayDelay(leakyQueue({ ...rate, queue: 0, burst: 1_000 })), false);
});

test("a burst must be a positive integer", () => {
  for (const burst of [0, 1.5, -1, NaN]) {
    assert.throws(
      () => leakyQueue({ ...rate, queue: 1, burst }),
      /^RangeError: Cannot create leakyQueue as burst must be a positive integer/,
    );
  }
});
