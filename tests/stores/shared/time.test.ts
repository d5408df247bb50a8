import assert from "node:assert/strict";
import { test } from "node:test";

import { gcra, limiter } from "../../../mod.ts";
import { steadyTime } from "../../../core/steady_time.ts";
import { attachSharedStore, sharedStore } from "../../../stores/shared/shared_store.ts";
import { attachMemory } from "../../../stores/shared/layout.ts";
import { newestTime } from "../../../stores/shared/newest_time.ts";
import { pathsOf, readText } from "../../support/tree.ts";

const START = 1_790_000_000_000;
const HOUR = 3_600_000;

/** A machine whose threads share a store, and whose wall clock may step. */
function machine() {
  let passed = 0;
  let wall = START;
  const { buffer } = sharedStore({ capacity: 10, maxBytes: 0 }).handle;
  return {
    /** Starts a thread: its time. */
    thread() {
      const begun = passed;
      const clocks = { wall: () => wall + passed, monotonic: () => passed - begun };
      return steadyTime(clocks, () => false, newestTime(attachMemory(buffer)));
    },
    pass(milliseconds: number) {
      passed += milliseconds;
    },
    step(milliseconds: number) {
      wall += milliseconds;
    },
  };
}

test("every call on a shared store takes its time from where steps are noticed", () => {
  for (const path of pathsOf(["stores/shared"], ".ts")) {
    // Only how long threads have been idle goes by the wall clock, in whole seconds.
    if (path.endsWith("threads/thread.ts")) continue;
    const code = readText(path).replaceAll(/^ *\*.*$/gm, "");
    assert.doesNotMatch(code, /Date\.now|performance\.now/, path);
  }
});

test("a thread that attaches after the wall clock was set back is not behind the others", () => {
  const { thread, pass, step } = machine();
  const first = thread();
  for (let call = 0; call < 5; call++) {
    first();
    pass(700);
  }
  step(-HOUR);
  const late = thread();
  assert.ok(first() >= START + 3_500);
  assert.ok(late() >= START + 2_000, `${late() - START} ms`);
  pass(1_500);
  first();
  pass(1_500);
  assert.ok(Math.abs(first() - late()) <= 1_100, `${first() - late()} ms`);
});

test("threads that saw different steps agree, whichever calls first", () => {
  for (const order of [[0, 1], [1, 0]] as const) {
    const { thread, pass, step } = machine();
    const threads = [thread(), thread()] as const;
    for (const time of threads) time();
    step(HOUR);
    threads[0]();
    step(-HOUR);
    for (let second = 0; second < 3; second++) {
      pass(1_001);
      for (const index of order) threads[index]();
    }
    const [one, other] = threads.map((time) => time()) as [number, number];
    assert.ok(Math.abs(one - other) <= 1_100, `${one - other} ms`);
    assert.ok(one >= START + HOUR);
  }
});

test("a store whose other threads are an hour ahead refuses nobody for that hour", () => {
  using store = sharedStore({ capacity: 10 });
  const algorithm = gcra({ limit: 60, period: "1m", burst: 5 });
  const ahead = Date.now() + HOUR;
  newestTime(attachMemory(store.handle.buffer)).tell(ahead);
  const before = limiter(algorithm, { store, prefix: "a", clock: () => ahead });
  assert.equal(before.consume("user", 5).allowed, true);
  using late = attachSharedStore(store.handle);
  const decision = limiter(algorithm, { store: late, prefix: "a" }).consume("user");
  assert.ok(decision.retryAfter <= 3_000, `${decision.retryAfter} ms`);
  assert.equal(late.statistics({ full: true }).liveKeys, 1);
  assert.equal(late.statistics().clockSteps, 0);
});
