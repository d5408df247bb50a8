import assert from "node:assert/strict";
import { test } from "node:test";

import { ruleEngine } from "../../../adapters/rules/rules.ts";
import { countingLongValues } from "../../../adapters/service/long_values.ts";
import { memoryStore } from "../../../mod.ts";

test("only a value beyond the longest is counted under a hash of it", () => {
  const rules = {
    domain: "shop",
    rules: [{ key: "path", limits: [{ algorithm: "gcra", limit: 5, period: "1m", burst: 5 }] }],
  } as const;
  const engine = countingLongValues(ruleEngine({ rules, store: memoryStore() }), 70, "secret");
  const keyOf = (value: string) =>
    (engine.consume({ domain: "shop", descriptors: [{ entries: [["path", value]] }] }) as never as {
      rules: readonly { key: string }[];
    }).rules[0]!.key;
  const longest = "a".repeat(70);
  assert.ok(keyOf(longest).includes(longest));
  const [key, other] = [keyOf(`${longest}b`), keyOf(`${longest}c`)];
  for (const each of [key, other]) assert.match(each, /(?<!a)a{64}~[\w-]{43}/);
  assert.notEqual(key, other);
});
