import assert from "node:assert/strict";
import { test } from "node:test";

import type { Mark } from "../../../core/receipts/receipt.ts";
import { attempt } from "../../../core/verbs/attempt.ts";
import { giveBackCall } from "../../../core/verbs/give_back.ts";
import { type Algorithm, all, fixedWindow, leakyQueue } from "../../../mod.ts";

/** A queue, and a window that ends at the same instant whatever is taken of it. */
const queue: Algorithm = all(
  leakyQueue({ limit: 1, period: "1s", queue: 4 }),
  fixedWindow({ limit: 10, period: "1d" }),
) as Algorithm;

test("of two places in a queue, the newest alone goes back; then the one before it is the newest", () => {
  const { next, answer } = attempt.on(queue);
  const argument = { cost: 1, maxDelay: Infinity, id: 1 };
  const states = [queue.initial];
  const [first, second] = [0, 1].map((index) => {
    states.push(next(states[index], 0, argument));
    return answer(states[index], states[index + 1], 0, argument).sight!.mark!;
  });
  const { next: giveBack } = giveBackCall.on(queue);
  const argumentOf = ({ marks }: Mark) => ({ units: 1, marks });
  const [places, window] = [0, 1].map((part) => (state: unknown) => (state as unknown[])[part]);
  const later = giveBack(states[2], 500, argumentOf(first!));
  assert.equal(places!(later), places!(states[2]));
  assert.equal(window!(later), window!(states[1]));
  const earlier = giveBack(states[2], 500, argumentOf(second!));
  assert.deepEqual(earlier, states[1]);
  assert.deepEqual(giveBack(earlier, 500, argumentOf(first!)), queue.initial);
});

test("a policy that decides in place of a store has seen nothing of the queue", () => {
  const argument = { cost: 1, maxDelay: 0, id: 1 };
  const { next, answer } = attempt.on(queue);
  const seen = answer(queue.initial, next(queue.initial, 0, argument), 0, argument);
  const { decision } = seen;
  assert.equal(attempt.answerOf({ ...decision, source: "fallback" }, seen).sight, seen.sight);
  assert.equal(attempt.answerOf({ ...decision, source: "policy" }, seen).sight, undefined);
});
