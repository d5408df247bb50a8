import assert from "node:assert/strict";
import { describe, test } from "node:test";

import fc from "fast-check";
import type { KindName } from "../../adapters/testing/arbitraries/subjects.ts";
import { kinds } from "../../adapters/testing/arbitraries/subjects.ts";
import { identityLaw } from "../../adapters/testing/laws/identity_law.ts";
import { algorithmOf, type LimitOptions } from "../../core/rules/limit_options.ts";
import {
  type Algorithm,
  calendarWindow,
  fixedWindow,
  gcra,
  lockout,
  slidingCounter,
  slidingLog,
} from "../../mod.ts";
import type { Subject } from "../../adapters/testing/testing.ts";
import { fcOptions } from "../support/seed.ts";

/** The options in which algorithms of one id may differ. */
const SIZES: Readonly<Partial<Record<KindName, readonly (keyof LimitOptions)[]>>> = {
  gcra: ["burst"],
  tokenBucket: ["burst"],
  tokenBucketByInterval: ["burst"],
  leakyBucket: ["burst"],
  leakyQueue: ["burst", "queue"],
};

/** Other sizes: a little smaller or larger, far from it, and small enough to be used up. */
const others = fc.oneof(
  fc.integer({ min: 1, max: 12 }),
  fc.integer({ min: 1, max: 1_000_000_000 }),
);

/** An algorithm and the same one with another limit. */
function pairs(kind: KindName): fc.Arbitrary<readonly Subject[]> {
  const sizes = SIZES[kind] ?? ["limit"];
  return fc.tuple(kinds[kind].limits(), fc.array(others, { minLength: 2, maxLength: 2 }))
    .map(([options, drawn]) => {
      const changed = sizes.map((name, index) => [name, drawn[index]]);
      return [options, { ...options, ...Object.fromEntries(changed) }].map(subjectOf);
    })
    .filter((pair): pair is Subject[] => !pair.includes(undefined))
    .filter(([one, other]) => one!.algorithm.id === other!.algorithm.id);
}

/** `undefined` for a size that the other options do not admit. */
function subjectOf(options: LimitOptions): Subject | undefined {
  try {
    return { algorithm: algorithmOf(options), label: fc.stringify(options) };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

describe("a state goes on under another limit", () => {
  for (const kind of Object.keys(kinds) as KindName[]) {
    test(kind, () => identityLaw(pairs(kind), {}).run(fcOptions({ numRuns: 20 })));
  }
});

/** Steps of limiters that share a key. */
function sharedKey(first: Algorithm) {
  let state = first.initial;
  return (algorithm: Algorithm, now: number, cost = 1) => {
    assert.equal(algorithm.id, first.id);
    const [decision, next] = algorithm.step(state, now, cost);
    state = next;
    return decision;
  };
}

test("a raised quota keeps its use, however large it is", () => {
  const makers: readonly ((limit: number) => Algorithm)[] = [
    (limit) => calendarWindow({ limit, every: "month", zone: "UTC" }),
    (limit) => fixedWindow({ limit, period: "30d", anchor: "first" }),
    (limit) => slidingCounter({ limit, period: "1d" }),
    (limit) => slidingLog({ limit, period: "30d" }),
  ];
  for (const make of makers) {
    const call = sharedKey(make(100_000));
    assert.equal(call(make(100_000), 1_000, 90_000).remaining, 10_000);
    assert.equal(call(make(3_000_000), 1_000, 1).remaining, 2_909_999);
    assert.equal(call(make(3_000_000), 1_000, 2_909_999).remaining, 0);
    const { allowed, remaining, debt } = call(make(100_000), 2_000);
    assert.deepEqual([allowed, remaining, debt], [false, 0, 2_900_000]);
  }
});

const MINUTE = 60_000;
const MAKERS = {
  "one length": (limit: number) => lockout({ limit, period: "10m", lock: "1h" }),
  "growing": (limit: number) => lockout({ limit, period: "10m", lock: ["1h"], forget: "1d" }),
};
for (const [name, make] of Object.entries(MAKERS)) {
  describe(`a lockout with locks of ${name}`, () => {
    for (const limit of [1, 2, 3, 10]) {
      test(`stays locked until the end of its lock under a limit of ${limit}`, () => {
        const call = sharedKey(make(3));
        for (const minute of [0, 1, 2]) call(make(3), minute * MINUTE);
        const { allowed, retryAfter } = call(make(limit), 30 * MINUTE);
        assert.deepEqual([allowed, retryAfter], [false, 32 * MINUTE]);
        assert.equal(call(make(limit), 62 * MINUTE).allowed, true);
      });
    }

    test("is used up until its window ends, where a lower limit finds as many tries", () => {
      const call = sharedKey(make(5));
      for (const minute of [0, 1, 2]) call(make(5), minute * MINUTE);
      const { allowed, retryAfter } = call(make(2), 3 * MINUTE);
      assert.deepEqual([allowed, retryAfter], [false, 7 * MINUTE]);
      assert.equal(call(make(2), 10 * MINUTE).remaining, 1);
      assert.equal(call(make(2), 11 * MINUTE).nextAfter, 60 * MINUTE);
    });

    test("gives the tries of a lock back one by one", () => {
      const call = sharedKey(make(3));
      call(make(3), 0, 3);
      assert.equal(call(make(10), MINUTE, -1).remaining, 1);
      assert.equal(call(make(10), MINUTE, 1).nextAfter, 60 * MINUTE);
    });
  });
}

test("a limit of 0 refuses everything, and leaves the states of others", () => {
  for (
    const make of [...Object.values(MAKERS), (limit: number) => fixedWindow({ limit, period: 9 })]
  ) {
    const [five, none] = [make(5), make(0)];
    const call = sharedKey(five);
    call(five, 0, 2);
    const { allowed, remaining, retryAfter, debt } = call(none, 1);
    assert.deepEqual([allowed, remaining, retryAfter, debt], [false, 0, Infinity, 0]);
    assert.equal(call(none, 1, 0).allowed, true);
    assert.equal(call(five, 1, 0).remaining, 3);
  }
});

test("a rate names the form of its states only where its burst decides it", () => {
  // A day of 2,047 is whole with nearly every burst.
  const rate = { limit: 2_047, period: 86_400_000 };
  assert.equal(gcra({ ...rate, burst: 1 }).id, gcra({ ...rate, burst: 2_047 }).id);
  assert.equal(gcra({ ...rate, burst: 60_000 }).id, "gcra/2047/86400000/fine");
  assert.equal(gcra({ ...rate, limit: 2_053, burst: 1 }).id, "gcra/2053/86400000");
});
