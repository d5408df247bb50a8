import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  followRules,
  objectSource,
  ruleEngine,
  type RuleEngineOptions,
  type RuleFile,
} from "../../../../adapters/rules/rules.ts";
import { serve } from "../../../../adapters/service/service.ts";
import { printedBy, WAYS_TO_FAIL } from "../../../support/failing_callbacks.ts";

const RULES: RuleFile = {
  domain: "shop",
  rules: [{ key: "user", lookup: "wait", limits: [{ limit: 1, period: "1h", burst: 1 }] }],
};
const REQUEST = { domain: "shop", descriptors: [{ entries: [["user", "42"]] }] } as const;

async function verdictsOf(options: RuleEngineOptions): Promise<boolean[]> {
  const engine = ruleEngine({ rules: RULES, ...options });
  const verdicts: boolean[] = [];
  for (let call = 0; call < 3; call++) verdicts.push((await engine.consume(REQUEST)).allowed);
  return verdicts;
}

for (const [way, fail] of Object.entries(WAYS_TO_FAIL)) {
  describe(`a callback that ${way}`, () => {
    test("as onVerdict, changes no verdict of an engine, and is printed once", async () => {
      const printed = await printedBy(async () => {
        assert.deepEqual(await verdictsOf({ onVerdict: fail }), [true, false, false]);
      });
      assert.equal(printed.length, 1);
    });

    test("as onLookupError, changes no verdict of an engine, and is printed once", async () => {
      const lookup = () => Promise.reject(new Error("the source is away"));
      const printed = await printedBy(async () => {
        const lookupCache = { onFailure: "default" } as const;
        const options = { lookup, lookupCache, onLookupError: fail };
        assert.deepEqual(await verdictsOf(options), [true, false, false]);
      });
      assert.equal(printed.length, 1);
    });

    test("as onEvent or onLimitsChanged, stops no reload", async () => {
      const source = objectSource(RULES);
      let limitsChanged = () => {};
      const watched: typeof source = {
        ...source,
        watch(changed, changedLimits) {
          limitsChanged = changedLimits ?? limitsChanged;
          return source.watch?.(changed, changedLimits) ?? (() => {});
        },
      };
      const applied: number[] = [];
      const printed = await printedBy(async () => {
        const followed = await followRules(watched, {
          apply: ({ rules }) => void applied.push(rules.length),
          onEvent: fail,
          onLimitsChanged: fail,
        });
        source.set({ ...RULES, rules: [] });
        assert.equal(await followed.reload(), true);
        source.set({ ...RULES, rules: [{ key: "" }] });
        assert.equal(await followed.reload(), false);
        limitsChanged();
        await followed.close();
      });
      assert.deepEqual(applied, [1, 0]);
      assert.equal(printed.length, 1);
    });

    test("as apply, refuses the rules", async () => {
      const following = followRules(objectSource(RULES), { apply: fail });
      await assert.rejects(following, /Cannot load rules from .*: the database is down/);
    });

    test("as log, does not end a service", async () => {
      const printed = await printedBy(async () => {
        const service = await serve({ rules: objectSource(RULES), port: 0, log: fail });
        await service.stop(0);
      });
      assert.equal(printed.length, 1);
    });
  });
}
