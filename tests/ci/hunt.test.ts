import assert from "node:assert/strict";
import { test } from "node:test";

import { tableOfFailures } from "../../.ci/hunt.mjs";

test("the table of a hunt says which tests failed how often, and with which seeds", () => {
  const rounds = [
    { on: "node", seed: 1, failures: ["node: rare", "node: frequent"] },
    { on: "node", seed: 2, failures: ["node: frequent"] },
    { on: "bun", seed: 3, failures: [] },
  ];
  assert.equal(
    tableOfFailures(rounds),
    [
      "   2  node: frequent (seeds 1, 2)",
      "   1  node: rare (seed 1)",
      "3 rounds, 2 failed",
    ].join("\n"),
  );
});
