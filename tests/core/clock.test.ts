import assert from "node:assert/strict";
import { test } from "node:test";

import { afterRealTime, LONGEST_TIMER } from "../../core/clock.ts";
import { inOwnTime } from "../support/real_time.ts";

test("a timer that fires early is set again for the rest of the time, and wakes nobody before", () => {
  inOwnTime((time) => {
    let woken = false;
    afterRealTime(5, () => woken = true);
    time.passed = 4.1;
    time.timers.shift()!.wake();
    assert.equal(woken, false);
    time.passed = 4.999;
    const again = time.timers.shift()!;
    assert.equal(again.milliseconds, 1);
    again.wake();
    assert.equal(woken, false);
    time.passed = 5;
    time.timers.shift()!.wake();
    assert.equal(woken, true);
    assert.equal(time.timers.length, 0);
  });
});

test("a wait longer than a timer holds is divided", () => {
  inOwnTime((time) => {
    let woken = false;
    afterRealTime(LONGEST_TIMER + 7, () => woken = true);
    time.passed = LONGEST_TIMER;
    assert.equal(time.timers[0]!.milliseconds, LONGEST_TIMER);
    time.timers.shift()!.wake();
    assert.deepEqual([woken, time.timers[0]!.milliseconds], [false, 7]);
  });
});
