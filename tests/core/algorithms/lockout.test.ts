import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { lockout } from "../../../mod.ts";
import { keyOf } from "../../support/key_of.ts";

const logins = lockout({ limit: 3, period: 1_000, lock: 5_000, name: "logins" });
const { charge, initial, codec, policies } = logins;

/**
 * Plays tries, refunds (negative) and looks (0). Returns the tries left, and the waits, after each.
 */
function play(calls: readonly (readonly [now: number, cost: number])[]): readonly unknown[] {
  const call = keyOf(logins);
  return calls.map((of) => {
    const { allowed, remaining, retryAfter, nextAfter, resetAfter } = call(...of);
    return [allowed, remaining, retryAfter, nextAfter, resetAfter].join(" ");
  });
}

describe("lockout", () => {
  test("admits the try that fills the period, and then none until the lock is over", () => {
    assert.deepEqual(play([[100, 1], [200, 1], [900, 1], [901, 1], [5_899, 1], [5_900, 1]]), [
      "true 2 0 1000 1000",
      "true 1 0 900 900",
      "true 0 0 5000 5000",
      "false 0 4999 4999 4999",
      "false 0 1 1 1",
      "true 2 0 1000 1000",
    ]);
  });

  test("forgets the tries of a period that was not filled", () => {
    assert.deepEqual(play([[100, 2], [1_099, 2], [1_100, 2]]), [
      "true 1 0 1000 1000",
      "false 1 1 1 1",
      "true 1 0 1000 1000",
    ]);
  });

  test("is unlocked by a try given back, into what is left of its period", () => {
    assert.deepEqual(play([[100, 3], [500, -1], [500, 1], [501, 1]]), [
      "true 0 0 5000 5000",
      "true 1 0 600 600",
      "true 0 0 5000 5000",
      "false 0 4999 4999 4999",
    ]);
    assert.deepEqual(play([[100, 3], [2_000, -1]]), ["true 0 0 5000 5000", "true 3 0 0 0"]);
  });

  test("is locked at once by a charge, and no longer by another", () => {
    const [locked, state] = charge(initial, 0, 3);
    assert.deepEqual([locked.remaining, locked.debt, locked.resetAfter], [0, 0, 5_000]);
    const [again] = charge(state, 1_500, 2);
    assert.deepEqual([again.debt, again.resetAfter], [2, 3_500]);
  });

  test("counts on in its window when the clock steps back", () => {
    assert.deepEqual(play([[2_000, 2], [500, 1], [1_999, 1], [6_999, 1], [7_000, 1]]), [
      "true 1 0 1000 1000",
      "true 0 0 6500 6500",
      "false 0 5001 5001 5001",
      "false 0 1 1 1",
      "true 2 0 1000 1000",
    ]);
  });

  test("has short text, and reads no text that no step can have written", () => {
    // The last three are of other limits.
    const texts = [
      ...["l1", "l1 100 2", "l1 100 3 100", "l1 100 1000000000 1099"],
      ...["l1 100 2 100", "l1 100 3", "l1 100 1000000001 100"],
    ];
    for (const text of texts) assert.equal(codec.encode(codec.decode(text)!), text);
    for (
      const text of [
        "l1 100 0",
        "l1 100 3 99",
        "l1 100 3 1100",
        "l1 4398046511105 1",
        "l2 100 2",
      ]
    ) {
      assert.equal(codec.decode(text), undefined, text);
    }
  });

  test("has the policy of its tries, and requires a lock", () => {
    assert.deepEqual(policies, [{ name: "logins", limit: 3, period: 1_000, burst: 3 }]);
    assert.throws(
      () => lockout({ limit: 3, period: "1m", lock: 0 }),
      /^RangeError: Cannot create lockout as lock must be whole milliseconds from 1 to 2\^42/,
    );
  });
});
