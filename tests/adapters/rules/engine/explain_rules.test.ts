import assert from "node:assert/strict";
import { test } from "node:test";

import { spanText } from "../../../../adapters/rules/engine/explain_rules.ts";

test("spans are shown in the largest unit that they fill", () => {
  const spans = [999, 1_000, 59_000, 60_000, 90_000, 3_600_000, 86_400_000];
  assert.deepEqual(
    spans.map(spanText),
    ["999 ms", "1 s", "59 s", "1 min", "1.5 min", "1 h", "1 d"],
  );
});
