import assert from "node:assert/strict";
import { test } from "node:test";

import { clockSteps, processTime } from "../../stores/process_time.ts";
import { steadyTime } from "../../core/steady_time.ts";
import { fixedWindow, gcra, limiter, memoryStore } from "../../mod.ts";
import { pathsOf, readText } from "../support/tree.ts";

const START = 1_790_000_000_000;
const HOUR = 3_600_000;

test("every call on the memory store takes its time from where steps are noticed", () => {
  for (const path of pathsOf(["stores/memory"], ".ts")) {
    const code = readText(path).replaceAll(/^ *\*.*$/gm, "");
    assert.doesNotMatch(code, /Date\.now|performance\.now/, path);
  }
});

/** A machine whose wall clock may step. */
function machine() {
  let wall = START;
  let monotonic = 5_000.25;
  const time = steadyTime({ wall: () => wall, monotonic: () => monotonic });
  time();
  return {
    time,
    /** Lets time pass on both clocks. */
    pass(milliseconds: number) {
      wall += milliseconds;
      monotonic += milliseconds;
    },
    /** Sets the wall clock. */
    step(milliseconds: number) {
      wall += milliseconds;
    },
  };
}

for (const idle of [0, 10, 999, 1_000, 100 * HOUR]) {
  test(`the wall clock steps back an hour ${idle} ms after a call: time goes on`, () => {
    const { time, pass, step } = machine();
    pass(300);
    assert.equal(time(), START + 300);
    pass(idle);
    step(-HOUR);
    const now = time();
    assert.ok(Math.abs(now - (START + 300 + idle)) <= 100, `${now - START - 300} ms`);
    pass(HOUR);
    assert.ok(Math.abs(time() - now - HOUR) <= 100);
  });
}

test("time follows the wall clock forwards, and does not come back", () => {
  const { time, pass, step } = machine();
  step(365 * 24 * HOUR);
  assert.equal(time(), START + 365 * 24 * HOUR);
  step(-365 * 24 * HOUR);
  pass(10);
  assert.ok(Math.abs(time() - START - 365 * 24 * HOUR - 10) <= 1);
  assert.equal(time.steps(), 2);
});

test("the wall clock steps back by less than the time since the last call: time goes on", () => {
  const { time, pass, step } = machine();
  pass(10_000);
  step(-8_000);
  assert.equal(time(), START + 10_000);
});

test("another wall clock is followed wherever it goes, also after a step back", () => {
  let wall = START;
  let isOther = false;
  const time = steadyTime({ wall: () => wall, monotonic: () => 0 }, () => isOther);
  time();
  wall -= HOUR;
  assert.equal(time(), START);
  isOther = true;
  wall = START + 5 * HOUR;
  assert.equal(time(), wall);
});

test("a step is counted once, however long time goes on after it", () => {
  const { time, pass, step } = machine();
  step(-HOUR);
  for (let second = 0; second < 5; second++) {
    for (let call = 0; call < 4; call++) {
      pass(300);
      time();
    }
  }
  assert.equal(time.steps(), 1);
});

test("time never goes back, and is whole, whatever the clocks do", () => {
  const { time, pass, step } = machine();
  let last = time();
  for (let call = 0; call < 2_000; call++) {
    pass(call * 7 % 13 / 2);
    if (call % 50 === 0) step(call % 100 === 0 ? -90_000 : 30);
    const now = Math.floor(time());
    assert.ok(now >= last);
    last = now;
  }
});

test("a burst before a step back of an hour is refilled when it was due", () => {
  const { time, pass, step } = machine();
  const api = limiter(gcra({ limit: 20, period: "1m", burst: 20 }), { clock: time });
  api.consume("key");
  step(-HOUR);
  const decision = api.consume("key");
  assert.deepEqual([decision.allowed, decision.remaining, decision.debt], [true, 18, 0]);
  pass(60_000);
  assert.equal(api.peek("key", 0).remaining, 20);
});

test("a call during a jump of a year locks nobody out for a year", () => {
  const { time, pass, step } = machine();
  const api = limiter(fixedWindow({ limit: 1, period: "1h" }), { clock: time });
  step(365 * 24 * HOUR);
  api.consume("key");
  step(-365 * 24 * HOUR);
  assert.ok(api.consume("key").retryAfter <= HOUR);
  pass(HOUR);
  assert.equal(api.consume("key").allowed, true);
});

test("a store's time is that of `Date.now`, also where a test has put another one there", () => {
  assert.ok(Math.abs(processTime() - Date.now()) < 60_000);
  const { now } = Date;
  try {
    Date.now = () => 1_000;
    assert.equal(processTime(), 1_000);
    const api = limiter(gcra({ limit: 1, period: "1s", burst: 1 }));
    api.consume("key");
    Date.now = () => 2_000;
    assert.equal(api.consume("key").allowed, true);
    Date.now = () => 500;
    assert.equal(processTime(), 500);
  } finally {
    Date.now = now;
  }
  assert.equal(memoryStore().statistics().clockSteps, clockSteps());
});
