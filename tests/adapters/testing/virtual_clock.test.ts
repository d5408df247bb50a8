import assert from "node:assert/strict";
import { test } from "node:test";
import { virtualClock } from "../../../adapters/testing/testing.ts";

test("a virtual clock wakes sleepers in the order of their time, at their time", () => {
  const clock = virtualClock(100);
  const woken: string[] = [];
  clock.after(30, () => woken.push(`b at ${clock()}`));
  clock.after(10, () => {
    woken.push(`a at ${clock()}`);
    clock.after(5, () => woken.push(`c at ${clock()}`));
  });
  clock.advance(29);
  assert.deepEqual(woken, ["a at 110", "c at 115"]);
  clock.advance(1);
  assert.deepEqual(woken, ["a at 110", "c at 115", "b at 130"]);
  assert.equal(clock(), 130);
  assert.equal(clock.sleepers, 0);
});

test("a virtual clock that is stepped wakes nobody, and sleepers keep their time", () => {
  const clock = virtualClock(1_000);
  let woken = 0;
  clock.after(10, () => woken++);
  clock.set(5_000);
  assert.equal(woken, 0);
  clock.set(0);
  clock.advance(9);
  assert.equal(woken, 0);
  clock.advance(1);
  assert.equal(woken, 1);
  assert.equal(clock(), 10);
});

test("a sleeper that is cancelled is not woken", () => {
  const clock = virtualClock();
  let woken = 0;
  const cancel = clock.after(10, () => woken++);
  cancel();
  clock.advance(100);
  assert.equal(woken, 0);
});

test("pass lets promises settle between wakes", async () => {
  const clock = virtualClock();
  const times: number[] = [];
  async function tick(): Promise<void> {
    for (let i = 0; i < 3; i++) {
      await new Promise<void>((resolve) => clock.after(10, resolve));
      times.push(clock());
    }
  }
  const done = tick();
  await clock.pass(35);
  await done;
  assert.deepEqual(times, [10, 20, 30]);
  assert.equal(clock(), 35);
});

test("nested passes of time never make it run back", async () => {
  const clock = virtualClock();
  clock.after(10, () => clock.advance(100));
  clock.advance(20);
  assert.equal(clock(), 110);
  let woken = 0;
  clock.after(15, () => woken++);
  await Promise.all([clock.pass(20), clock.pass(5)]);
  assert.equal(clock(), 130);
  clock.advance(9);
  assert.equal(woken, 1, "once, and not again or later");
});

test("a virtual clock refuses a time that is not finite, or below 0", async () => {
  const clock = virtualClock(1_000);
  for (const milliseconds of [-1, NaN, Infinity]) {
    const fault = { name: "RangeError", message: /^Cannot let time pass as .*: current value is / };
    assert.throws(() => clock.advance(milliseconds), fault);
    await assert.rejects(clock.pass(milliseconds), fault);
  }
  assert.equal(clock(), 1_000);
});
