import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { sleep } from "../../core/sleep.ts";
import { virtualClock } from "../../adapters/testing/testing.ts";

describe("sleep", () => {
  test("ends when its time has passed, by the clock or in real time", async () => {
    const clock = virtualClock(1_764_000_000_000);
    let elapsed: boolean | undefined;
    const asleep = sleep(clock, 1_000, undefined).then((whole) => elapsed = whole);
    await clock.pass(999);
    assert.equal(elapsed, undefined);
    await clock.pass(1);
    assert.equal(await asleep, true);
    assert.equal(await sleep(undefined, 1, new AbortController().signal), true);
  });

  test("leaves nothing on a signal that outlives it", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    Object.assign(signal, {
      addEventListener: () => listeners++,
      removeEventListener: () => listeners--,
    });
    const clock = virtualClock(0);
    const asleep = sleep(clock, 1, signal);
    assert.equal(listeners, 1);
    await clock.pass(1);
    assert.equal(await asleep, true);
    assert.equal(listeners, 0);
  });

  test("ends by an abort, and leaves no timer", async () => {
    const clock = virtualClock(1_764_000_000_000);
    const controller = new AbortController();
    const asleep = sleep(clock, 1_000, controller.signal);
    assert.equal(clock.sleepers, 1);
    controller.abort();
    assert.equal(await asleep, false);
    assert.equal(clock.sleepers, 0);
    assert.equal(await sleep(clock, 1_000, controller.signal), false);
    assert.equal(clock.sleepers, 0);
  });
});
