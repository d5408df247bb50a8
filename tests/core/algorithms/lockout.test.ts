import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { lockout } from "../../../mod.ts";

const logins = lockout({ limit: 3, period: 1_000, lock: 5_000, name: "logins" });
const { codec, policies } = logins;

describe("lockout", () => {
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
