import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import type { Algorithm } from "../../../../core/algorithm.ts";
import { algorithmOf, type LimitOptions, type Verdict } from "../../../../core/rules/rules.ts";
import { ruleEngine } from "../../../../adapters/rules/rules.ts";
import { sharedStore } from "../../../../stores/shared/shared_store.ts";
import { memoryStore } from "../../../../stores/memory/memory_store.ts";
import { fcOptions } from "../../../support/seed.ts";

/*
 * The engine beside a model that knows one level of rules and nothing of stores: it looks rules up by
 * hand, keeps states in a map, and steps the bare reducers.
 */

interface ModelRule {
  readonly key: string;
  readonly value: string | undefined;
  readonly shadow: boolean;
  readonly quota: boolean;
  readonly limits: readonly LimitOptions[];
}

interface Call {
  readonly wait: number;
  readonly cost: number;
  readonly entries: readonly (readonly [key: string, value: string])[];
}

const KEYS = ["a", "b", "c"] as const;
const VALUES = ["x", "y", "xx"] as const;

const limit: fc.Arbitrary<LimitOptions> = fc.record({
  algorithm: fc.constantFrom(
    "gcra",
    "slidingLog",
    "fixedWindow",
    "slidingCounter",
    "tokenBucket",
    "leakyBucket",
  ),
  limit: fc.integer({ min: 1, max: 6 }),
  period: fc.constantFrom(50, 100, 1_000),
});

const rule: fc.Arbitrary<ModelRule> = fc.record({
  key: fc.constantFrom(...KEYS),
  value: fc.option(fc.constantFrom(...VALUES, "x*"), { nil: undefined }),
  shadow: fc.boolean(),
  quota: fc.boolean(),
  limits: fc.uniqueArray(limit, {
    minLength: 1,
    maxLength: 2,
    selector: (each) => algorithmOf(each).id,
  }),
});

const rules = fc.uniqueArray(rule, {
  maxLength: 8,
  selector: ({ key, value }) => `${key} ${value}`,
});

const calls: fc.Arbitrary<readonly Call[]> = fc.array(
  fc.record({
    wait: fc.integer({ min: 0, max: 60 }),
    cost: fc.integer({ min: 0, max: 3 }),
    entries: fc.uniqueArray(fc.tuple(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES)), {
      minLength: 1,
      maxLength: 3,
      selector: (entry) => entry.join(),
    }),
  }),
  { maxLength: 60 },
);

function model(list: readonly ModelRule[], charge: "together" | "each") {
  const states = new Map<string, unknown>();

  function find(key: string, value: string): ModelRule | undefined {
    const ofKey = list.filter((each) => each.key === key);
    return ofKey.find((each) => each.value === value) ??
      ofKey.find((each) => each.value === "x*" && value.startsWith("x")) ??
      ofKey.find((each) => each.value === undefined);
  }

  /** Steps the limits of some rules, all or none; answers which rules admit. */
  function step(
    groups: readonly { readonly rule: ModelRule; readonly counter: string }[],
    now: number,
    cost: number,
    dry: boolean,
  ): readonly boolean[] {
    const next = new Map<string, unknown>();
    const admitted = groups.map(({ rule, counter }) =>
      rule.limits.map((options) => {
        const algorithm = algorithmOf(options) as Algorithm;
        const name = `${counter} ${algorithm.id}`;
        const state = states.get(name) ?? algorithm.initial;
        const [decision, after] = algorithm.step(state, now, cost);
        next.set(name, after);
        return decision.allowed;
      }).every(Boolean)
    );
    if (!dry && admitted.every(Boolean)) {
      for (const [name, state] of next) {
        states.set(name, state);
      }
    }
    return admitted;
  }

  return function decide(
    call: Call,
    now: number,
  ): readonly [allowed: boolean, rules: readonly boolean[]] {
    const found = call.entries.flatMap(([key, value]) => {
      const rule = find(key, value);
      return rule === undefined ? [] : [{ rule, counter: `${key}=${value}` }];
    });
    const verdicts = new Map<string, boolean>();
    const record = (groups: typeof found, admitted: readonly boolean[]) =>
      groups.forEach(({ counter }, place) => verdicts.set(counter, admitted[place]!));
    const enforced = found.filter((each) => !each.rule.shadow);
    const shadows = found.filter((each) => each.rule.shadow);
    const quotas = enforced.filter((each) => each.rule.quota);
    const others = enforced.filter((each) => !each.rule.quota);
    const isAllowed = () =>
      others.every(({ counter }) => verdicts.get(counter)) &&
      (quotas.length === 0 || quotas.some(({ counter }) => verdicts.get(counter)));
    const alone = (groups: typeof found, dry: boolean) => {
      for (const each of groups) record([each], step([each], now, call.cost, dry));
    };
    if (charge === "each") {
      alone(found, false);
    } else if (quotas.length > 1) {
      const asked = step(others, now, call.cost, true);
      record(others, asked);
      alone(quotas, !asked.every(Boolean));
      if (isAllowed()) step(others, now, call.cost, false);
    } else {
      record(enforced, step(enforced, now, call.cost, false));
    }
    const allowed = isAllowed();
    if (charge === "together") alone(shadows, !allowed);
    return [allowed, found.map(({ counter }) => verdicts.get(counter)!)];
  };
}

const stores = {
  memory: () => memoryStore(),
  shared: () => sharedStore({ capacity: 64, maxBytes: 65_536 }),
};

for (const [name, makeStore] of Object.entries(stores)) {
  for (const charge of ["together", "each"] as const) {
    test(`on ${name}, charged ${charge}, every verdict is that of the bare reducers`, () => {
      fc.assert(
        fc.property(rules, calls, (list, all) => {
          let now = 1_700_000_000_000;
          const engine = ruleEngine({
            rules: { domain: "d", charge, rules: list },
            store: makeStore(),
            clock: () => now,
          });
          const decide = model(list, charge);
          for (const call of all) {
            now += call.wait;
            const verdict = engine.consume({
              domain: "d",
              descriptors: call.entries.map((entry) => ({ entries: [entry] })),
              cost: call.cost,
            }) as Verdict;
            const [allowed, each] = decide(call, now);
            assert.equal(verdict.allowed, allowed);
            assert.deepEqual(
              verdict.rules.map(({ decision }) => decision?.allowed),
              each,
            );
          }
        }),
        fcOptions({ numRuns: 150 }),
      );
    });
  }
}
