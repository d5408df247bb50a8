import assert from "node:assert/strict";
import { test } from "node:test";

import { attempt } from "../../../core/verbs/attempt.ts";
import { refundNewest } from "../../../core/verbs/refund_newest.ts";
import { type Algorithm, all, fixedWindow, leakyQueue } from "../../../mod.ts";

/** A queue, and a window that ends at the same instant whatever is taken of it. */
const queue: Algorithm = all(
  leakyQueue({ limit: 1, period: "1s", queue: 4 }),
  fixedWindow({ limit: 10, period: "1d" }),
) as Algorithm;

test("of two places in a queue beside a window that lasts longer, the newest alone goes back", () => {
  const { next, answer } = attempt.on(queue);
  const argument = { cost: 1, maxDelay: Infinity };
  const states = [queue.initial];
  const [first, second] = [0, 1].map((index) => {
    states.push(next(states[index], 0, argument));
    return answer(states[index], states[index + 1], 0, argument).sight!.freshAt;
  });
  const giveBack = refundNewest.on(queue).next;
  const taken = states[2];
  assert.equal(giveBack(taken, 500, { cost: 1, freshAt: first! }), taken);
  assert.deepEqual(giveBack(taken, 500, { cost: 1, freshAt: second! }), states[1]);
});

test("a policy that decides in place of a store has seen nothing of the queue", () => {
  const argument = { cost: 1, maxDelay: 0 };
  const { next, answer } = attempt.on(queue);
  const seen = answer(queue.initial, next(queue.initial, 0, argument), 0, argument);
  const { decision } = seen;
  assert.equal(attempt.answerOf({ ...decision, source: "fallback" }, seen).sight, seen.sight);
  assert.equal(attempt.answerOf({ ...decision, source: "policy" }, seen).sight, undefined);
});
