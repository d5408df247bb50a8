import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { allOf, andFinally, andThen, type MaybePromise, orElse } from "../../core/maybe_promise.ts";

/** A promise of another library: all that it has is `then`. */
function thenable<Value>(value: Value): PromiseLike<Value> {
  return { then: (...handlers) => Promise.resolve(value).then(...handlers) };
}

function failing(error: Error): PromiseLike<never> {
  return { then: (...handlers) => Promise.reject(error).then(...handlers) };
}

const down = new Error("down");
const ways: readonly [string, <Value>(value: Value) => MaybePromise<Value>][] = [
  ["a value", (value) => value],
  ["a promise", (value) => Promise.resolve(value)],
  ["a thenable", thenable],
];

for (const [name, answer] of ways) {
  describe(`of ${name}`, () => {
    test("andThen goes on, at once if it can", async () => {
      const next = andThen(answer(20), (value) => value + 1);
      assert.equal(typeof next === "number", name === "a value");
      assert.equal(await next, 21);
    });

    test("orElse answers the call, and allOf all of them", async () => {
      assert.equal(await orElse(() => answer(1), () => 2), 1);
      assert.deepEqual(await allOf([answer(1), 2, answer(3)]), [1, 2, 3]);
    });

    test("andFinally ends after the call", async () => {
      let ended = 0;
      assert.equal(await andFinally(() => answer(ended), () => void ended++), 0);
      assert.equal(ended, 1);
    });
  });
}

for (
  const [name, fail] of [
    ["throws", (): number => {
      throw down;
    }],
    ["rejects", () => Promise.reject(down)],
    ["rejects by a thenable", () => failing(down)],
  ] satisfies readonly [string, () => MaybePromise<number>][]
) {
  test(`orElse recovers from a call that ${name}, and andFinally ends it`, async () => {
    assert.equal(await orElse<number>(fail, (error) => error === down ? 7 : 0), 7);
    let ended = 0;
    await assert.rejects(async () => await andFinally<number>(fail, () => void ended++), down);
    assert.equal(ended, 1);
  });
}
