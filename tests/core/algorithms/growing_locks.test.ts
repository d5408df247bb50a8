import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { lockout } from "../../../mod.ts";

const options = { limit: 3, period: 1_000, lock: [100, 500, 2_000], forget: 10_000 } as const;

describe("lockout whose locks grow", () => {
  test("a single duration stays what it was", () => {
    const single = lockout({ limit: 3, period: 1_000, lock: 100 });
    assert.equal(single.id, "lockout/1000/100");
    assert.equal(single.codec.encode(single.step(single.initial, 5, 3)[1]), "l1 5 3 5");
    const growing = lockout({ ...options, lock: [100] });
    assert.equal(growing.id, "lockout/1000/100/10000");
    assert.equal(growing.codec.encode(growing.step(growing.initial, 5, 3)[1]), "l2 5 3 1 105 0");
  });

  test("text that no step leaves reads as undefined", () => {
    const { codec } = lockout(options);
    const good = [
      ...["l2", "l2 5 2 0 0 0", "l2 105 2 1 100 0", "l2 5 3 1 105 0", "l2 105 3 2 605 105"],
      // States of another limit are read, too.
      ...["l2 5 2 1 100 0", "l2 5 3 0 0 0"],
    ];
    for (const text of good) assert.equal(codec.encode(codec.decode(text)!), text);
    const bad = [
      "l2 0 0 0 0 0",
      "l2 5 2 1 0 0", // a lock without an end
      "l2 5 2 0 100 0",
      "l2 105 2 1 100 50", // a lock before the one that is over
      "l2 5 3 1 105 50", // a lock before the first
      "l2 105 3 2 605 0", // none before the second
      "l2 5 3 1 3005 0", // longer than the last
    ];
    for (const text of bad) assert.equal(codec.decode(text), undefined, text);
  });

  test("requires locks in order, and how long they are remembered", () => {
    const make = (more: object) => () => lockout({ ...options, ...more } as never);
    assert.throws(make({ lock: [] }), /lock must be 1 to 64 durations/);
    assert.throws(make({ lock: ["5m", "1m"] }), /lock must hold durations in order/);
    assert.throws(make({ lock: ["5m", 0] }), /each lock must be whole milliseconds/);
    assert.throws(make({ forget: undefined }), /forget must be/);
    assert.throws(make({ lock: "5m" }), /forget must be left out unless lock is a list/);
  });
});
