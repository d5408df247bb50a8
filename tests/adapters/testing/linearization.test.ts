import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { algorithms, linearization, type ObservedCall } from "../../../adapters/testing/testing.ts";
import { gcra } from "../../../core/algorithms/gcra.ts";
import { fcOptions } from "../../support/seed.ts";

const algorithm = gcra({ limit: 2, period: "1h", burst: 2 });
const [first, one] = algorithm.step(algorithm.initial, 0, 1);
const [second, two] = algorithm.step(one, 0, 1);
const [refused] = algorithm.step(two, 0, 1);
const [given] = algorithm.step(two, 0, -1);

function call(
  start: number,
  end: number,
  decision: ObservedCall["decision"],
  cost = 1,
): ObservedCall {
  return { start, end, now: 0, cost, decision };
}

test("calls in turn are in order only as they came", () => {
  assert.deepEqual(linearization(algorithm, [call(0, 1, first), call(2, 3, second)]), [0, 1]);
  assert.equal(linearization(algorithm, [call(0, 1, second), call(2, 3, first)]), undefined);
});

test("calls that overlap are in any order", () => {
  assert.deepEqual(linearization(algorithm, [call(0, 3, second), call(1, 2, first)]), [1, 0]);
});

test("one unit too many has no order", () => {
  const history = [call(0, 9, first), call(0, 9, second), call(0, 9, second)];
  assert.equal(linearization(algorithm, history), undefined);
});

test("a refund may come before a call that needs it, and after a call that does not", () => {
  const history = [
    call(0, 9, first),
    call(0, 9, second),
    call(0, 9, second),
    call(0, 9, given, -1),
    call(0, 9, refused),
  ];
  assert.equal(linearization(algorithm, history)?.length, 5);
});

test("a call without an answer may have taken effect or not", () => {
  const lost = call(0, Infinity, undefined);
  assert.deepEqual(linearization(algorithm, [lost, call(1, 2, first)])?.at(-1), 1);
  assert.deepEqual(linearization(algorithm, [lost, call(1, 2, second)]), [0, 1]);
  assert.equal(linearization(algorithm, [lost, call(1, 2, refused)]), undefined);
});

test("a look that was answered dry changes nothing", () => {
  const dry = { ...call(0, 1, first), dry: true };
  assert.deepEqual(linearization(algorithm, [dry, call(2, 3, first)]), [0, 1]);
});

test("a search that takes too long says so", () => {
  const history = Array.from({ length: 6 }, () => call(0, 9, first));
  assert.throws(() => linearization(algorithm, history, { maxSteps: 3 }), RangeError);
});

test("a history may be of any length", () => {
  const algorithm = gcra({ limit: 100_000, period: "1h", burst: 100_000 });
  let state = algorithm.initial;
  const history = Array.from({ length: 20_000 }, (_, i): ObservedCall => {
    const [decision, next] = algorithm.step(state, i, 1);
    state = next;
    return { start: i - i % 3, end: i + 2, now: i, cost: 1, decision };
  });
  assert.equal(linearization(algorithm, history)?.length, 20_000);
});

test("every history that was made in some order has one", () => {
  const drawn = fc.array(
    fc.record({ at: fc.nat({ max: 40 }), cost: fc.integer({ min: -2, max: 3 }) }),
    {
      minLength: 1,
      maxLength: 8,
    },
  );
  fc.assert(
    fc.property(algorithms(), drawn, fc.nat({ max: 6 }), ({ algorithm }, calls, overlap) => {
      let state = algorithm.initial;
      const history = calls.map(({ at, cost }, i) => {
        const [decision, next] = algorithm.step(state, at, cost);
        state = next;
        return { start: i - overlap, end: i + overlap, now: at, cost, decision };
      });
      assert.notEqual(linearization(algorithm, history.reverse()), undefined);
    }),
    fcOptions(),
  );
});
