import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compileDomain, matchDescriptor } from "../../../core/rules/rules.ts";
import { descriptors, ruleSets } from "../../support/rule_sets.ts";
import { fcOptions } from "../../support/seed.ts";

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
