import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  type AlgorithmRule,
  allRule,
  fixedWindowRule,
  follow,
  gcraRule,
  judge,
  leakyBucketRule,
  leakyQueueRule,
  ledger,
  logOptions,
  model,
  rateOptions,
  schedules,
  slidingCounterRule,
  slidingLogRule,
  slidingWindowRule,
  table,
  tokenBucketRule,
} from "../../../adapters/testing/testing.ts";
import { compileDomain, matchDescriptor } from "../../../core/rules/rules.ts";
import { descriptors, ruleSets } from "../../support/rule_sets.ts";
import { fcOptions } from "../../support/seed.ts";

type Options = { limit: number; period: number; burst: number };

/** Both models answer every call of every schedule alike, but for `delay`. */
function sameAnswers(
  options: fc.Arbitrary<Options>,
  one: (options: Options) => AlgorithmRule,
  other: (options: Options) => AlgorithmRule,
): void {
  fc.assert(
    fc.property(options, schedules(), (drawn, schedule) => {
      const rule = one(drawn);
      const [a, b] = [model(rule), model(other(drawn))];
      const guide = { capacity: Number(rule.capacity), grids: [drawn.period] };
      const calls = follow(schedule, guide, a.decide);
      for (const [i, { now, cost, charge, decision }] of calls.entries()) {
        const answer = b.decide(now, cost, charge);
        assert.deepEqual(
          { ...answer, delay: 0 },
          { ...decision, delay: 0 },
          table(calls.slice(0, i + 1)),
        );
      }
    }),
    fcOptions(),
  );
}

/** Options of windows, which take no notice of a burst. */
const windows = logOptions().map((options) => ({ ...options, burst: options.limit }));

type Ruler = (options: Options) => AlgorithmRule;

/** Rules that answer alike, and the options on which they do. */
const alike: Readonly<Record<string, readonly [fc.Arbitrary<Options>, one: Ruler, other: Ruler]>> =
  {
    "tokenBucketRule is gcraRule": [rateOptions(), gcraRule, tokenBucketRule],
    "leakyBucketRule is gcraRule": [rateOptions(), gcraRule, leakyBucketRule],
    "leakyQueueRule is tokenBucketRule but for the delay": [
      rateOptions(),
      tokenBucketRule,
      ({ limit, period, burst }) => leakyQueueRule({ limit, period, queue: burst - 1 }),
    ],
    "slidingWindowRule to the millisecond is slidingLogRule": [
      windows,
      slidingLogRule,
      (options) => slidingWindowRule({ ...options, precision: 1 }),
    ],
    "slidingWindowRule of one sub-bucket is fixedWindowRule": [
      windows,
      fixedWindowRule,
      (options) => slidingWindowRule({ ...options, precision: options.period }),
    ],
  };

describe("models of one arithmetic agree", () => {
  for (const [name, pair] of Object.entries(alike)) test(name, () => sameAnswers(...pair));
  test("allRule of one part is that part", () => {
    fc.assert(
      fc.property(rateOptions(), schedules(), (options, schedule) => {
        const [alone, together] = [model(gcraRule(options)), model(allRule(gcraRule(options)))];
        const guide = { capacity: options.burst, grids: [options.period] };
        for (const { now, cost, charge, decision } of follow(schedule, guide, alone.decide)) {
          const { parts, ...answer } = together.decide(now, cost, charge);
          assert.deepEqual(parts, [decision]);
          assert.deepEqual({ ...answer, parts: undefined }, decision);
        }
      }),
      fcOptions({ numRuns: 30 }),
    );
  });
});

/** Rules with small numbers, so that all durations can be tried. */
const small: readonly (readonly [string, AlgorithmRule])[] = [
  ["gcraRule", gcraRule({ limit: 3, period: 7, burst: 4 })],
  ["tokenBucketRule", tokenBucketRule({ limit: 3, period: 7, burst: 4 })],
  [
    "tokenBucketRule by interval",
    tokenBucketRule({ limit: 2, period: 5, burst: 7, refill: "interval" }),
  ],
  ["leakyBucketRule", leakyBucketRule({ limit: 5, period: 4, burst: 3 })],
  ["leakyQueueRule", leakyQueueRule({ limit: 3, period: 10, queue: 2 })],
  ["fixedWindowRule", fixedWindowRule({ limit: 3, period: 9, anchor: -2 })],
  [
    "fixedWindowRule from the first call",
    fixedWindowRule({ limit: 3, period: 9, anchor: "first" }),
  ],
  ["slidingLogRule", slidingLogRule({ limit: 4, period: 8 })],
  ["slidingWindowRule", slidingWindowRule({ limit: 4, period: 12, precision: 3 })],
  ["slidingCounterRule", slidingCounterRule({ limit: 5, period: 6 })],
  [
    "allRule",
    allRule(gcraRule({ limit: 3, period: 7, burst: 3 }), slidingLogRule({ limit: 4, period: 20 })),
  ],
];

describe("judge finds the same by halving as by counting", () => {
  for (const [name, rule] of small) {
    test(name, () => {
      fc.assert(
        fc.property(schedules({ maxLength: 8 }), (schedule) => {
          let use: unknown;
          follow(schedule, { capacity: Number(rule.capacity), grids: [7] }, (now, cost, charge) => {
            const [instant, units] = [BigInt(now) % 1_000n, BigInt(cost)];
            const { decision, use: next } = judge<unknown>(rule, use, instant, units, charge);
            const { remaining, retryAfter, nextAfter, resetAfter, debt } = decision;
            assert.deepEqual(
              [remaining, retryAfter, nextAfter, resetAfter, debt],
              counted(rule, use, next, instant, charge ? 0n : units),
            );
            use = next;
            return decision;
          });
        }),
        fcOptions({ numRuns: 60 }),
      );
    });
  }
});

function counted(
  rule: AlgorithmRule,
  use: unknown,
  next: unknown,
  now: bigint,
  cost: bigint,
): number[] {
  const least = (holds: (n: number) => boolean): number => {
    for (let n = 0; n < 3_000; n++) if (holds(n)) return n;
    return Infinity;
  };
  const remaining = least((n) => !rule.admits(next, now, BigInt(n + 1)));
  const admitted = (state: unknown, units: bigint) => (wait: number) =>
    units <= 0n || rule.admits(state, now + BigInt(wait), units);
  return [
    remaining,
    least(admitted(use, cost)),
    remaining === Number(rule.capacity) ? 0 : least(admitted(next, BigInt(remaining) + 1n)),
    least((wait) => next === undefined || rule.fresh(next, now + BigInt(wait))),
    least((n) => rule.admits(next, now, BigInt(-n))),
  ];
}

type Units = readonly (readonly [at: number, units: number])[];

/** The entries that are made, and those that are left. */
const rows: Readonly<Record<string, readonly [entered: Units, left: Units]>> = {
  "gives back the newest units first": [[[10, 3], [20, 2], [25, -4]], [[10, 1]]],
  "attributes a call from before the newest entry to that entry's instant": [
    [[20, 1], [10, 1]],
    [[20, 1], [20, 1]],
  ],
  "starts anew when the clock steps behind what was given back": [
    [[10, 1], [20, 1], [15, -1], [15, 1]],
    [[15, 1]],
  ],
  "gives back no more than it holds": [[[10, 1], [10, -5], [30, 2]], [[30, 2]]],
};

for (const [name, [entered, left]] of Object.entries(rows)) {
  test(`a ledger ${name}`, () => {
    const book = ledger();
    for (const [at, units] of entered) book.enter(at, units);
    assert.deepEqual(book.entries, left.map(([at, units]) => ({ at, units })));
  });
}

test("random rule sets have no fault", () => {
  fc.assert(
    fc.property(ruleSets(), (options) => assert.deepEqual(compileDomain(options).faults, [])),
    fcOptions(),
  );
});

test("random descriptors meet rules of random rule sets", () => {
  const pairs = ruleSets().chain((options) => fc.tuple(fc.constant(options), descriptors(options)));
  const both = fc.sample(pairs, { ...fcOptions(), numRuns: 500 });
  const met = both.filter(([options, drawn]) => {
    const { domain } = compileDomain(options);
    return domain !== undefined &&
      drawn.some(({ entries }) => matchDescriptor(domain, entries) !== undefined);
  });
  assert.ok(met.length > 200, `${met.length} of 500`);
});
