import assert from "node:assert/strict";
import { test } from "node:test";

import {
  admitHead,
  dequeue,
  enqueue,
  observeRefusal,
  queueFor,
  refuseHopeless,
  type Waiter,
  wakeHead,
} from "../../../core/limiter/waiting_queue.ts";
import { type Algorithm, gcra } from "../../../mod.ts";

/** A queue of a used-up limit of one a second, whose head has just been refused at 5,000. */
function refusedQueue(maxWaits: readonly number[]) {
  const algorithm = gcra({ limit: 1, period: "1s" }) as Algorithm;
  const limiter = {
    algorithm,
    maxWaiting: 10,
    waiting: 0,
    passing: () => 0,
    queues: new Map(),
    after: () => () => {},
    watch: () => undefined,
    run: () => assert.fail(),
    peek: () => assert.fail(),
    storedKey: () => "stored",
    report: () => assert.fail(),
  };
  const queue = queueFor(limiter.queues, "stored");
  const ends: string[] = [];
  const waiters = maxWaits.map((maxWait, place): Waiter => ({
    ...{ limiter, key: "key", cost: 1, maxWait, signal: undefined, afterUndo: false },
    deadline: maxWait,
    counted: false,
    projection: undefined,
    freshAt: undefined,
    cancelled: false,
    wake() {},
    resolve: () => assert.fail(),
    reject: () => ends.push(`${place} refused`),
  }));
  for (const waiter of waiters) enqueue(queue, waiter);
  const [, state] = algorithm.step(algorithm.initial, 5_000, 1);
  const [refusal] = algorithm.step(state, 5_000, 1);
  const [admission] = algorithm.step(state, 6_000, 1);
  const seen = { refusedState: { state, at: 5_000 }, at: 5_000, freshAt: 6_000 };
  observeRefusal(queue, waiters[0]!, refusal, seen);
  refuseHopeless(queue);
  return { queue, waiters, ends, admission };
}

test("those who cannot be admitted in time are refused, and make room for those behind", () => {
  const { queue, waiters, ends } = refusedQueue([Infinity, 2_000, 2_999, 3_000, 3_999]);
  assert.deepEqual(ends, ["2 refused", "4 refused"]);
  assert.deepEqual(queue.waiting, [waiters[0], waiters[1], waiters[3]]);
  assert.deepEqual(queue.waiting.map(({ projection }) => projection?.wait), [1_000, 2_000, 3_000]);
  assert.equal(queue.withDeadline, 2);
});

test("an admission as projected keeps the projections, a refund drops them", () => {
  const { queue, ends, admission } = refusedQueue([Infinity, 2_000, 3_000]);
  admitHead(queue, admission, undefined);
  assert.deepEqual([ends, queue.projected, queue.observed?.at], [[], 2, 6_000]);
  wakeHead(queue);
  assert.deepEqual([queue.projected, queue.observed], [0, undefined]);
});

test("whoever leaves takes the projections of those behind along", () => {
  const { queue, waiters } = refusedQueue([Infinity, 2_000, 3_000]);
  dequeue(queue, waiters[1]!);
  assert.deepEqual([queue.waiting.length, queue.projected, queue.withDeadline], [2, 1, 1]);
  dequeue(queue, waiters[1]!);
  assert.equal(queue.waiting.length, 2);
});
