import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { algorithmLaws, algorithms, type Subject } from "../../../adapters/testing/testing.ts";
import { gcra } from "../../../mod.ts";
import { scaleAlgorithm } from "../../../core/algorithms/scale_algorithm.ts";
import { fcOptions } from "../../support/seed.ts";

/** Random algorithms, of which a random share is taken. */
function shares(): fc.Arbitrary<Subject> {
  return fc.tuple(algorithms(), fc.integer({ min: 1, max: 60 }))
    .filter(([{ algorithm }, servers]) => algorithm.capacity >= servers)
    .map(([{ algorithm }, servers]) => ({
      algorithm: scaleAlgorithm(algorithm, 1 / servers),
      label: `a ${servers}th of ${algorithm.id}`,
    }));
}

describe("a share of an algorithm", () => {
  // A share has the id of the whole, because both are kept under the limiter's one key.
  const laws = algorithmLaws(shares()).filter(({ name }) => !name.includes("of one id"));
  for (const law of laws) {
    test(`keeps the law: ${law.name}`, () => law.run(fcOptions({ numRuns: 40 })));
  }

  test("admits that share of the capacity, rounded down, for any share", () => {
    const anyShare = fc.double({ min: 0.01, max: 1, noNaN: true });
    fc.assert(
      fc.property(anyShare, fc.integer({ min: 1, max: 5_000 }), (share, burst) => {
        fc.pre(burst * share >= 1);
        const { step, initial, capacity } = scaleAlgorithm(
          gcra({ limit: 100, period: "1m", burst }),
          share,
        );
        assert.ok(capacity <= burst * share + 1e-9 && capacity > burst * share - 1);
        assert.equal(step(initial, 0, capacity)[0].allowed, true);
        assert.equal(step(initial, 0, capacity + 1)[0].allowed, false);
        assert.equal(step(initial, 0, 0)[0].remaining, capacity);
      }),
      fcOptions(),
    );
  });
});
