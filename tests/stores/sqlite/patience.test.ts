import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { patience } from "../../../stores/sqlite/patience.ts";
import { fcOptions } from "../../support/seed.ts";

/** Waiting whose time passes as it is waited, and a little more each time. */
function waitingWithin(timeout: number, excess: number) {
  let now = 0;
  const steps: number[] = [];
  const waiting = patience(timeout, {
    now: () => now,
    wait(milliseconds) {
      steps.push(milliseconds);
      now += milliseconds + excess;
    },
  });
  return { waiting, steps };
}

test("a call waits in short steps, and no longer than its timeout", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.double({ min: 0, max: 0.5, noNaN: true }),
      (timeout, excess) => {
        const { waiting, steps } = waitingWithin(timeout, excess);
        const waitStep = waiting.start();
        while (waitStep());
        const whole = steps.reduce((sum, step) => sum + step, 0);
        assert.ok(whole <= timeout + 1e-9, `${whole} ms of ${timeout}`);
        assert.ok(steps.every((step) => step <= 0.3), `${Math.max(...steps)} ms in one step`);
        assert.ok(steps.slice(0, -1).every((step) => step >= 0.1));
      },
    ),
    fcOptions(),
  );
});

test("after a call that waited in vain, others do not wait until one succeeds", () => {
  const { waiting, steps } = waitingWithin(2, 0);
  const first = waiting.start();
  while (first());
  const waited = steps.length;
  assert.equal(waiting.start()(), false);
  assert.equal(steps.length, waited);
  waiting.reward();
  assert.equal(waiting.start()(), true);
});
