import assert from "node:assert/strict";
import { after, test } from "node:test";

import { looksLikeSeconds, secondsWarning } from "../../../core/options/warn_of_seconds.ts";
import { gcra, limiter } from "../../../mod.ts";

/** Collects what is printed, until all tests are over. */
function warningsOf(): string[] {
  const warnings: string[] = [];
  const { warn } = console;
  after(() => void (console.warn = warn));
  console.warn = (text: string) => void warnings.push(text);
  return warnings;
}

test("a number that is more likely meant as seconds is warned of, once", () => {
  const warnings = warningsOf();
  // A period that is refused is not warned of.
  assert.throws(() => gcra({ limit: 1, period: 0, burst: 1 }), RangeError);
  // Others in this process may have been warned already.
  const warnOf = secondsWarning();
  for (const period of ["60ms", "10m", 1_000]) warnOf("gcra", period);
  assert.deepEqual(warnings, []);
  for (const period of [60, 3_600]) warnOf("gcra", period);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /gcra is 60 milliseconds: write "60s" .* or "60ms"/);
});

test("a clock that counts seconds is warned of, once, and a test's clock is not", () => {
  const warnings = warningsOf();
  let now = 0;
  const rate = gcra({ limit: 9, period: "1m", burst: 9 });
  const api = limiter(rate, { clock: () => now });
  for (now of [0, 1, 60, 100_000, 1_700_000_000_000, Date.now()]) api.consume("key");
  assert.deepEqual(warnings, []);
  for (now of [Date.now() / 1_000, Date.now() / 1_000]) api.consume("key");
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /^tidegate: a clock says 1\d{9}: it must count milliseconds/);
});

test("which numbers those are", () => {
  assert.deepEqual([1, 60, 600, 3_600, 86_400].filter(looksLikeSeconds).length, 5);
  assert.deepEqual([100, 250, 500, 1_000, 60_000].filter(looksLikeSeconds), []);
});
