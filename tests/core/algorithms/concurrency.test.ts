import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { concurrency } from "../../../mod.ts";

describe("concurrency", () => {
  test("text that no step leaves reads as undefined", () => {
    const { codec } = concurrency({ limit: 3, ttl: 10 });
    const good = ["p1", "p1 a@5", "p1 a@5 b@5", "p1 a@5 b@6*2"];
    for (const text of good) assert.equal(codec.encode(codec.decode(text)!), text);
    const bad = [
      "p1 ",
      "p1 a",
      "p1 @5",
      "p1 A@5",
      "p1 a@05",
      "p1 a@5*1",
      "p1 a@5*0",
      "p1 a@5  b@5",
      "p1 a!@5",
      "p1 a@6 b@5", // not in the order of their ends
      "p1 a@5*4", // more than the limit
      "p1 a@5*2 b@6*2",
    ];
    for (const text of bad) assert.equal(codec.decode(text), undefined, text);
  });

  test("renews for an hour, or for a time to live that is longer", () => {
    assert.equal(concurrency({ limit: 1, ttl: "1m" }).internals?.permits?.maxHold, 3_600_000);
    assert.equal(concurrency({ limit: 1, ttl: "2h" }).internals?.permits?.maxHold, 7_200_000);
    assert.throws(() => concurrency({ limit: 1, ttl: "2h", maxHold: "1h" }), {
      name: "RangeError",
      message: /maxHold must be at least the ttl of 7200000 ms/,
    });
  });
});
