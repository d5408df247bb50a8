/*
 * The laws of receipts at length: `npm run receipts` plays five million steps of all algorithms, of
 * `all` as one, of blockable ones and of shares, each checked against a replay.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type fc from "fast-check";

import { type Law, type Subject, subjects } from "../../../adapters/testing/testing.ts";
import { receiptCounts, receiptLaws } from "../../../adapters/testing/laws/receipt_laws.ts";
import { scaleAlgorithm } from "../../../core/algorithms/scale_algorithm.ts";
import { all, blockable } from "../../../mod.ts";
import { fcOptions, isLong } from "../../support/seed.ts";

/** Schedules of each law and each kind of subject. */
const RUNS = isLong() ? 6_000 : 4;

type MakeSubject = () => fc.Arbitrary<Subject>;

function changed(make: MakeSubject, change: (subject: Subject) => Subject): MakeSubject {
  return () => make().map(change);
}

const KINDS: Readonly<Record<string, MakeSubject>> = {
  ...subjects,
  ...Object.fromEntries(
    Object.entries(subjects).map(([name, make]) => [
      `${name}, blockable`,
      changed(make, ({ algorithm, grids }) => ({ algorithm: blockable(algorithm), grids })),
    ]),
  ),
  "all of an algorithm and its blockable twin": changed(subjects.gcra, ({ algorithm, grids }) => ({
    algorithm: all(algorithm, blockable(algorithm)),
    grids,
  })),
  "a third": changed(subjects.all, (subject) => {
    const { algorithm, grids } = subject;
    return algorithm.capacity < 3
      ? subject
      : { algorithm: scaleAlgorithm(algorithm, 1 / 3), grids };
  }),
};

function run(context: TestContext, law: Law): void {
  const before = { ...receiptCounts };
  law.run(fcOptions({ numRuns: RUNS }));
  const names = Object.keys(before) as (keyof typeof before)[];
  if (!isLong()) return;
  context.diagnostic(
    names.map((name) => `${receiptCounts[name] - before[name]} ${name}`).join(", "),
  );
}

for (const [name, make] of Object.entries(KINDS)) {
  for (const law of receiptLaws(make())) {
    test(`${name}: ${law.name}`, (context) => run(context as TestContext, law));
  }
}

test("the laws have settled receipts, given units back, and closed receipts early", (context) => {
  for (const count of Object.values(receiptCounts)) assert.ok(count > 0);
  if (isLong()) (context as TestContext).diagnostic(JSON.stringify(receiptCounts));
});
