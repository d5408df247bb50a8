import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { descriptors, ruleSets } from "../../../support/rule_sets.ts";
import {
  algorithmOf,
  compileDomain,
  type Descriptor,
  type DomainOptions,
  type LimitOptions,
  type RuleOptions,
  type Verdict,
} from "../../../../core/rules/rules.ts";
import { ruleEngine } from "../../../../adapters/rules/rules.ts";
import { sharedStore } from "../../../../stores/shared/shared_store.ts";
import { memoryStore } from "../../../../stores/memory/memory_store.ts";
import { fcOptions } from "../../../support/seed.ts";

/*
 * The engine beside a model that knows nothing of stores: it looks rules up in the list that was
 * written, keeps states in a map, and steps the bare reducers.
 */

interface Call {
  readonly wait: number;
  readonly cost: number;
  readonly descriptors: readonly Descriptor[];
}

/** A rule that holds for a request, and its counter. */
interface Group {
  readonly rule: RuleOptions;
  readonly counter: string;
  readonly cost: number;
  readonly places: readonly number[];
}

/** Replaces the limits of a random rule: small limits refuse soon. */
const verdict = fc.record({
  limits: fc.uniqueArray(
    fc.record({
      algorithm: fc.constantFrom(
        "gcra",
        "slidingLog",
        "fixedWindow",
        "slidingCounter",
        "tokenBucket",
        "leakyBucket",
      ),
      limit: fc.integer({ min: 1, max: 4 }),
      period: fc.constantFrom(100, 1_000),
    }).map((each) => /gcra|Bucket/.test(each.algorithm) ? { ...each, burst: each.limit } : each),
    { minLength: 1, maxLength: 2, selector: (each: LimitOptions) => algorithmOf(each).id },
  ),
  shadow: fc.constantFrom(false, false, true),
  quota: fc.constantFrom(true, true, false),
  blocked: fc.constantFrom(false, false, false, false, true),
});

/** Rules with small limits, and calls of few requests. */
const runs = fc.tuple(ruleSets(), fc.array(verdict, { minLength: 40, maxLength: 40 }))
  .map(([options, pool]): DomainOptions => {
    const decided = (rules: readonly RuleOptions[]): RuleOptions[] =>
      rules.map(({ limits, rules = [], ...rule }) => {
        const { limits: small, blocked, ...mode } = pool.pop()!;
        const own = limits === undefined ? {} : blocked ? { blocked } : { limits: small };
        return { ...rule, ...mode, ...own, rules: decided(rules) };
      });
    return { ...options, rules: decided(options.rules) };
  })
  .chain((options) => {
    const requests = fc.array(descriptors(options), { minLength: 1, maxLength: 3 });
    const call = fc.record({
      wait: fc.integer({ min: 0, max: 60 }),
      cost: fc.integer({ min: 0, max: 3 }),
      request: fc.nat(),
    });
    return fc.tuple(requests, fc.array(call, { maxLength: 40 })).map(([drawn, calls]) =>
      [
        options,
        calls.map(({ request, ...call }): Call => (
          { ...call, descriptors: drawn[request % drawn.length]! }
        )),
      ] as const
    );
  });

/** The rule of a level to which the entries lead. */
function find(
  level: readonly RuleOptions[],
  [entry, ...rest]: Descriptor["entries"],
  above: readonly unknown[] = [],
): { readonly rule: RuleOptions; readonly counter: string } | undefined {
  const [key, value] = entry!;
  const ofKey = level.filter((each) => each.key === key);
  const isOf = (pattern = "") => new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(value);
  const rule = ofKey.find((each) => each.value === value) ??
    ofKey.find((each) => each.value?.includes("*") && isOf(each.value)) ??
    ofKey.find((each) => each.value === undefined);
  if (rule === undefined) return undefined;
  const own = [...above, key, rule.share === true ? rule : value];
  if (rest.length > 0) return find(rule.rules ?? [], rest, own);
  const { limits, unlimited, blocked } = rule;
  const isOpen = limits === undefined && unlimited !== true && blocked !== true;
  return isOpen ? undefined : { rule, counter: JSON.stringify(own) };
}

/** The rules that hold for a request, except rules that others replace. */
function groupsOf({ rules }: DomainOptions, call: Call): readonly Group[] {
  const found = new Map<string, Group>();
  call.descriptors.forEach(({ entries, cost = call.cost }, index) => {
    const match = find(rules, entries);
    if (match === undefined) return;
    const twin = found.get(match.counter) ?? { ...match, cost: 0, places: [] };
    found.set(match.counter, { ...twin, cost: twin.cost + cost, places: [...twin.places, index] });
  });
  const replaced = [...found.values()].flatMap(({ rule }) => rule.replaces ?? []);
  return [...found.values()].filter(({ rule: { name } }) =>
    name === undefined || !replaced.includes(name)
  );
}

function model(options: DomainOptions) {
  const states = new Map<string, unknown>();

  /** Steps the limits of some rules, all or none. Returns the rules that admit. */
  function step(groups: readonly Group[], now: number, dry: boolean): readonly boolean[] {
    const next = new Map<string, unknown>();
    const admitted = groups.map(({ rule: { limits = [], blocked }, counter, cost }) =>
      (blocked !== true || cost === 0) && limits.map((options) => {
        const algorithm = algorithmOf(options);
        const name = `${counter} ${algorithm.id}`;
        const [decision, after] = algorithm.step(
          states.get(name) ?? algorithm.initial,
          now,
          cost,
        );
        next.set(name, after);
        return decision.allowed;
      }).every(Boolean)
    );
    if (!dry && admitted.every(Boolean)) {
      for (const [name, state] of next) states.set(name, state);
    }
    return admitted;
  }

  return function decide(call: Call, now: number) {
    const found = groupsOf(options, call);
    const verdicts = new Map<Group, boolean>();
    const record = (groups: readonly Group[], admitted: readonly boolean[]) =>
      groups.forEach((group, index) => verdicts.set(group, admitted[index]!));
    const enforced = found.filter(({ rule }) => rule.shadow !== true);
    const shadows = found.filter(({ rule }) => rule.shadow === true);
    const quotas = enforced.filter(({ rule }) => rule.quota === true);
    const others = enforced.filter(({ rule }) => rule.quota !== true);
    const isAllowed = () =>
      others.every((each) => verdicts.get(each)) &&
      (quotas.length === 0 || quotas.some((each) => verdicts.get(each)));
    const alone = (groups: readonly Group[], dry: boolean) => {
      for (const each of groups) record([each], step([each], now, dry));
    };
    if (options.charge === "each") {
      alone(found, false);
    } else if (quotas.length > 1) {
      const asked = step(others, now, true);
      record(others, asked);
      alone(quotas, !asked.every(Boolean));
      if (isAllowed()) step(others, now, false);
    } else {
      record(enforced, step(enforced, now, false));
    }
    const allowed = isAllowed();
    if (options.charge !== "each") alone(shadows, !allowed);
    const rules = found.map((each) => ({
      descriptors: each.places,
      allowed: each.rule.shadow === true || verdicts.get(each)!,
      decided: each.rule.unlimited === true ? undefined : verdicts.get(each)!,
    }));
    return { allowed, rules };
  };
}

/** The fields of a verdict that the model has, too. */
function shown({ allowed, rules }: Verdict) {
  return {
    allowed,
    rules: rules.map(({ descriptors, allowed, decision }) => (
      { descriptors, allowed, decided: decision?.allowed }
    )),
  };
}

const stores = {
  memory: () => memoryStore(),
  shared: () => sharedStore({ capacity: 256, maxBytes: 262_144 }),
};

for (const [name, makeStore] of Object.entries(stores)) {
  test(`on ${name} every verdict is that of the bare reducers, and a look at it before`, () => {
    fc.assert(
      fc.property(runs, ([options, calls]) => {
        let now = 1_700_000_000_000;
        const domain = compileDomain(options).domain!;
        const engine = ruleEngine({
          rules: {
            domains: new Map([[domain.name, domain]]),
            rules: domain.rules,
            routes: new Map(),
            files: [],
          },
          store: makeStore(),
          clock: () => now,
        });
        const decide = model(options);
        for (const { wait, ...call } of calls) {
          now += wait;
          const request = { domain: options.domain, ...call };
          const look = shown(engine.peek(request) as Verdict);
          const expected = decide({ wait, ...call }, now);
          assert.deepEqual(shown(engine.consume(request) as Verdict), expected);
          assert.deepEqual(look, expected);
        }
      }),
      fcOptions({ numRuns: 400 }),
    );
  });
}
