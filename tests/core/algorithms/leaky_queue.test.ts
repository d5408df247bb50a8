import assert from "node:assert/strict";
import { test } from "node:test";

import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { leakyQueue } from "../../../mod.ts";

const rate = { limit: 10, period: "1s" } as const;

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
