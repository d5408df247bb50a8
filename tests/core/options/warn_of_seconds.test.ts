import assert from "node:assert/strict";
import { after, test } from "node:test";

import { looksLikeSeconds, secondsWarning } from "../../../core/options/warn_of_seconds.ts";

test("a number that is more likely meant as seconds is warned of, once", () => {
  const warnings: string[] = [];
  const { warn } = console;
  after(() => void (console.warn = warn));
  console.warn = (text: string) => void warnings.push(text);
  // Others in this process may have been warned already.
  const warnOf = secondsWarning();
  for (const period of ["60ms", "10m", 1_000]) warnOf("gcra", period);
  assert.deepEqual(warnings, []);
  for (const period of [60, 3_600]) warnOf("gcra", period);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /gcra is 60 milliseconds: write "60s" .* or "60ms"/);
});

test("which numbers those are", () => {
  assert.deepEqual([1, 60, 600, 3_600, 86_400].filter(looksLikeSeconds).length, 5);
  assert.deepEqual([100, 250, 500, 1_000, 60_000].filter(looksLikeSeconds), []);
});
