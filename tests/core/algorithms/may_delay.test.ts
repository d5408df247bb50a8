import assert from "node:assert/strict";
import { test } from "node:test";

import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { type Algorithm, all, fixedWindow, gcra, leakyQueue } from "../../../mod.ts";

const queue = leakyQueue({ limit: 1, period: "1s", queue: 1 });
const window = fixedWindow({ limit: 1, period: "1s" });
const own: Algorithm<number> = {
  ...leakyQueue({ limit: 1, period: "1s", queue: 1 }),
  id: "own/1",
  internals: undefined,
} as Algorithm<number>;

test("mayDelay tries the reducer, so it recognises a custom algorithm, whatever its id", () => {
  for (const algorithm of [queue, own, all(window, queue)]) {
    assert.equal(mayDelay(algorithm), true);
    assert.equal(mayDelay(algorithm), true);
  }
  const noQueue = leakyQueue({ limit: 1, period: "1s", queue: 0 });
  for (const algorithm of [window, noQueue, all(window, gcra({ limit: 9, period: 1, burst: 9 }))]) {
    assert.equal(mayDelay(algorithm), false);
  }
});
