import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  algorithmLaws,
  type AlgorithmRule,
  limiterLaws,
  spanBound,
  type Subject,
} from "../../adapters/testing/testing.ts";
import type { Algorithm } from "../../core/algorithm.ts";
import { limiterOn } from "../../core/limiter/limiter.ts";
import { threeStrikes } from "../../examples/three_strikes.ts";
import { memoryStore } from "../../stores/memory/memory_store.ts";
import { fcOptions } from "../support/seed.ts";
import { readText } from "../support/tree.ts";

/** The strikes of a key by their definition. */
function strikesRule(strikes: number, period: number): AlgorithmRule<readonly bigint[]> {
  function held(use: readonly bigint[] = [], now: bigint): readonly bigint[] {
    return (use.at(-1) ?? now) + BigInt(period) > now ? use : [];
  }
  return {
    capacity: BigInt(strikes),
    maxDebt: 0n,
    limit: () => strikes,
    admits: (use, now, cost) => BigInt(held(use, now).length) + cost <= BigInt(strikes),
    after(use, now, cost) {
      const before = held(use, now);
      const newest = before.at(-1) ?? now;
      const all = cost > 0n
        ? [...before, ...Array<bigint>(Number(cost)).fill(now > newest ? now : newest)]
        : held(before.slice(0, Math.max(0, before.length + Number(cost))), now);
      return all.length > 0 ? all : undefined;
    },
    fresh: (use, now) => held(use, now).length === 0,
  };
}

const subjects = fc.record({
  strikes: fc.integer({ min: 1, max: 5 }),
  period: fc.integer({ min: 1, max: 100_000 }),
}).map(({ strikes, period }): Subject => ({
  algorithm: threeStrikes({ strikes, period }) as Algorithm,
  rule: strikesRule(strikes, period) as AlgorithmRule,
  bounds: [spanBound(strikes, period)],
  grids: [period],
}));

describe("a custom algorithm", () => {
  for (const law of algorithmLaws(subjects)) {
    test(`threeStrikes: ${law.name}`, () => law.run(fcOptions()));
  }
  for (
    const law of limiterLaws(
      (algorithm, clock) => limiterOn(algorithm, memoryStore(), "strikes", { clock }),
      { subjects },
    )
  ) {
    test(`threeStrikes in a limiter: ${law.name}`, () => law.run(fcOptions({ numRuns: 30 })));
  }
});

describe("docs/internals/laws.md shows", () => {
  test("examples/three_strikes.ts as it is", () => {
    const source = readText("examples/three_strikes.ts")
      .replaceAll('"../mod.ts"', '"tidegate"')
      .replaceAll("export function", "function");
    const code = source.slice(source.indexOf("*/") + 3).trim();
    assert.ok(readText("docs/internals/laws.md").includes(code));
  });
});
