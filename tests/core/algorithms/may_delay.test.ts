import assert from "node:assert/strict";
import { test } from "node:test";

import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { scaleAlgorithm } from "../../../core/algorithms/scale_algorithm.ts";
import {
  type Algorithm,
  all,
  blockable,
  fixedWindow,
  gcra,
  leakyQueue,
  reservable,
} from "../../../mod.ts";

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

test("mayDelay of a share of a queue, all of whose calls need the whole capacity", () => {
  const share = scaleAlgorithm(leakyQueue({ limit: 10, period: "1s", queue: 4 }), 1 / 3);
  assert.equal(share.capacity, 1);
  const [, state] = share.step(share.initial, 0, 1);
  const [admitted] = share.step(state, 100, 1);
  assert.deepEqual([admitted.allowed, admitted.delay], [true, 200]);
  for (const algorithm of [share, all(window, share), blockable(share), reservable(share)]) {
    assert.equal(mayDelay(algorithm), true, algorithm.id);
  }
});
