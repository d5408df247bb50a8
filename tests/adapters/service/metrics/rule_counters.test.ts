import assert from "node:assert/strict";
import { test } from "node:test";

import { ruleEngine } from "../../../../adapters/rules/rules.ts";
import {
  countersOf,
  keepRules,
  ruleCounters,
} from "../../../../adapters/service/metrics/rule_counters.ts";
import { memoryStore } from "../../../../mod.ts";

/** The rules of a detailed rule on a descriptor key. */
function rulesOn(key: string) {
  const limits = [{ algorithm: "gcra", limit: 5, period: "1m", burst: 5 }] as const;
  const domain = { domain: "shop", rules: [{ key, detailed: true, limits }] };
  return ruleEngine({ rules: domain, store: memoryStore() }).rules;
}

test("keys of rules that are gone leave room for the keys of others", () => {
  const counters = ruleCounters();
  const [users, hosts] = [rulesOn("user"), rulesOn("host")];
  const [user, host] = [users, hosts].map((rules) => rules.rules[0]!);
  for (let key = 0; key < 1_000; key++) countersOf(counters, user!, `user=${key}`);
  assert.equal(countersOf(counters, user!, "user=more").key, undefined);
  keepRules(counters, hosts);
  assert.equal(countersOf(counters, host!, "host=a").key, "host=a");
});
