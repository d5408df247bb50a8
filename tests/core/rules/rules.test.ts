import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import {
  addPattern,
  type AlgorithmName,
  algorithmOf,
  compileDomain,
  earlierPatterns,
  type LimitOptions,
  matchDescriptor,
  matchesWildcard,
  matchRules,
  type RuleOptions,
  unreachableLimits,
  verdictOf,
  wildcardOf,
} from "../../../core/rules/rules.ts";
import type { Period } from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

const LIMITS: readonly LimitOptions[] = [{ limit: 10, period: "1s", burst: 10 }];

function domainOf(rules: readonly RuleOptions[]) {
  const { domain, faults } = compileDomain({ domain: "shop", rules });
  assert.deepEqual(faults, []);
  return domain!;
}

function faultsOf(rules: readonly RuleOptions[]): string[] {
  return compileDomain({ domain: "shop", rules }).faults
    .map(({ path, message }) => `${path.join(".")}: ${message}`);
}

// The law of the engine compares with a model which rules match a request. These are the rest.
describe("matchDescriptor", () => {
  test("nothing holds for a name that every object has", () => {
    const domain = domainOf([{ key: "user", limits: LIMITS }]);
    for (const key of ["toString", "__proto__"]) {
      assert.equal(matchDescriptor(domain, [[key, "x"]]), undefined);
    }
  });

  test("no two descriptors have the same counter", () => {
    const text = fc.string({ minLength: 1, unit: fc.constantFrom("a", "=", ",", "%", "2") });
    const open = domainOf([{
      key: "a",
      limits: LIMITS,
      rules: [{ key: "b", limits: LIMITS, rules: [{ key: "b", limits: LIMITS }] }],
    }]);
    const entries = fc.tuple(text, fc.array(text, { maxLength: 2 })).map(([first, rest]) => [
      ["a", first] as const,
      ...rest.map((value) => ["b", value] as const),
    ]);
    fc.assert(
      fc.property(entries, entries, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        const keys = [one, other].map((each) => matchDescriptor(open, each)!.key);
        assert.equal(keys[0] === keys[1], same);
      }),
      fcOptions({ numRuns: 500 }),
    );
  });
});

describe("compileDomain reports each fault and its place", () => {
  const cases: readonly [name: string, rules: readonly RuleOptions[], fault: RegExp][] = [
    ["two rules for the same", [{ key: "a" }, { key: "a" }], /^rules.1: two rules at one level/],
    [
      "an option out of range",
      [{ key: "a", limits: [{ limit: -1, period: 1 }] }],
      /^rules.0.limits.0: Cannot create slidingCounter as limit/,
    ],
    [
      "an unknown algorithm",
      [{ key: "a", limits: [{ algorithm: "constructor" as never, limit: 1, period: 1 }] }],
      /^rules.0.limits.0: .*algorithm must be one of gcra/,
    ],
    [
      "limits and none",
      [{ key: "a", unlimited: true, limits: LIMITS }],
      /^rules.0: a rule may have only one/,
    ],
    ["sharing without a pattern", [{ key: "a", value: "b", share: true }], /^rules.0.share/],
    [
      "a rule that replaces itself",
      [{ key: "a", name: "x", replaces: ["x"], limits: LIMITS }],
      /^rules.0.replaces.0: a rule cannot replace itself/,
    ],
    [
      "a fault deep inside",
      [{ key: "a", rules: [{ key: "b", lookup: "wait" }] }],
      /^rules.0.rules.0.lookup/,
    ],
  ];
  for (const [name, rules, fault] of cases) {
    test(name, () => {
      const faults = faultsOf(rules);
      assert.equal(faults.length, 1);
      assert.match(faults[0]!, fault);
    });
  }
});

test("a duplicate limit is reported at its own place, after a wrong one", () => {
  const faults = faultsOf([{ key: "a", limits: [{ limit: -1, period: 1 }, ...LIMITS, ...LIMITS] }]);
  assert.match(faults[0]!, /^rules.0.limits.0: /);
  assert.match(faults[1]!, /^rules.0.limits.2: this rule has the same limit twice/);
});

describe("matchesWildcard", () => {
  test("agrees with a regular expression", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", "*"), maxLength: 8 });
    fc.assert(
      fc.property(pattern.filter((each) => each.includes("*")), text, (written, value) => {
        const expression = new RegExp(`^${written.replaceAll("*", ".*")}$`);
        assert.equal(matchesWildcard(wildcardOf(written)!, value), expression.test(value));
      }),
      fcOptions({ numRuns: 1_000 }),
    );
  });

  test("a pattern that comes after one which matches all that it does is found, with the first such", () => {
    const piece = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 6 });
    const patterns = fc.array(piece.filter((each) => each.includes("*")), { maxLength: 12 });
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 });
    fc.assert(
      fc.property(patterns, text, (list, value) => {
        const earlier = earlierPatterns();
        list.forEach((each, index) => {
          const [start, end] = [each.split("*").at(0)!, each.split("*").at(-1)!];
          const first = list.slice(0, index).find((other) => {
            const pieces = other.split("*");
            return pieces.slice(1, -1).join("") === "" &&
              start.startsWith(pieces[0]!) && end.endsWith(pieces.at(-1)!);
          });
          const pattern = wildcardOf(each)!;
          const found = addPattern(earlier, pattern);
          assert.equal(found?.text, first);
          if (found === undefined || !matchesWildcard(pattern, value)) return;
          assert.ok(matchesWildcard(found, value), `${found.text} covers ${each}: ${value}`);
        });
      }),
      fcOptions({ numRuns: 1_000 }),
    );
  });
});

test("of a request's readings one is charged, beside what others charge to that counter", () => {
  const domain = domainOf([{ key: "user", limits: LIMITS }]);
  const entries = [["user", "42"]] as const;
  const readingOf = {};
  const [applied] = matchRules(
    domain,
    [{ entries }, ...[1, 2].map(() => ({ entries, readingOf }))],
    1,
    ({ limits }) => limits,
  );
  assert.equal(applied!.cost, 2);
});

test("a shadow's capacity is not that of a verdict", () => {
  const rules = [["user", 10, false], ["team", 2, true]] as const;
  const domain = domainOf(
    rules.map(([key, limit, shadow]) => ({
      key,
      shadow,
      limits: [{ limit, period: "1s", burst: limit }],
    })),
  );
  const [user, team] = domain.rules.map((rule) => {
    const algorithm = rule.limits[0]!;
    const [decision] = algorithm.step(algorithm.initial, 0, 2);
    const { capacity, limits } = rule;
    const allowed = decision.allowed || rule.shadow;
    return { rule, key: "", cost: 2, descriptors: [0], decision, limits, capacity, allowed };
  });
  assert.equal(verdictOf([user!, team!]).decision?.nextAfter, user!.decision.nextAfter);
});

describe("unreachableLimits", () => {
  const log = (limit: number, period: Period): LimitOptions => (
    { algorithm: "slidingLog", limit, period }
  );
  const rate = (limit: number, burst: number): LimitOptions => ({ limit, period: "1s", burst });
  const cases: readonly [name: string, limits: readonly LimitOptions[], idle: readonly number[]][] =
    [
      ["a day that the second never fills", [rate(1, 1), log(100_000, "1d")], [1]],
      ["a second that the minute forbids", [log(20, "1s"), log(10, "1m")], [0]],
      ["two that both matter", [log(5, "1s"), log(100, "1m")], []],
      [
        "a counter that remembers the window before",
        [log(10, "1m"), { algorithm: "slidingCounter", limit: 10, period: "1m" }],
        [],
      ],
      ["a slower rate with the larger burst", [rate(10, 5), rate(5, 20)], []],
      ["a faster rate with the larger burst", [rate(10, 20), rate(5, 5)], [0]],
    ];
  for (const [name, limits, idle] of cases) {
    test(name, () => {
      assert.deepEqual(
        unreachableLimits(limits.map(algorithmOf)).map((each) => each.unreachable),
        idle,
      );
    });
  }

  test("a reported shadow never refuses a request that the other rule admits", () => {
    const limit = fc.record({
      algorithm: fc.constantFrom<AlgorithmName>(
        ...["gcra", "slidingLog", "fixedWindow", "slidingCounter", "tokenBucket"] as const,
      ),
      limit: fc.integer({ min: 1, max: 12 }),
      period: fc.constantFrom(50, 100, 200, 1_000),
    });
    const gaps = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 120 });
    fc.assert(
      fc.property(limit, limit, gaps, (one, other, waits) => {
        const limits = [one, other].map((each) =>
          algorithmOf(/gcra|Bucket/.test(each.algorithm) ? { ...each, burst: each.limit } : each)
        );
        const [found] = unreachableLimits(limits);
        if (found === undefined) return;
        const idle = limits[found.unreachable]!;
        const binding = limits[found.reachedFirst]!;
        let [state, idleState, now] = [binding.initial, idle.initial, 0];
        for (const wait of waits) {
          now += wait;
          const [decision, next] = binding.step(state, now, 1);
          state = next;
          if (!decision.allowed) continue;
          const [idleDecision, idleNext] = idle.step(idleState, now, 1);
          idleState = idleNext;
          assert.ok(idleDecision.allowed, `${idle.id} after ${binding.id} at ${now}`);
        }
      }),
      fcOptions({ numRuns: 500 }),
    );
  });
});
