import assert from "node:assert/strict";
import { test } from "node:test";

import { algorithmLaws, limiterLaws, storeLaws } from "../../../adapters/testing/testing.ts";
import { gcra, limiter, memoryStore } from "../../../mod.ts";

// deno-lint-ignore no-explicit-any
const untyped = (value: unknown) => value as any;

test("errors of laws name the given subject and the needed one", () => {
  const wrong: readonly [() => unknown, string][] = [
    [
      () => algorithmLaws(untyped(gcra)),
      "Cannot check laws as it needs an algorithm, a subject, a list or an arbitrary " +
      "of either: current value is a function",
    ],
    [() => algorithmLaws(untyped(undefined)), "current value is undefined"],
    [() => algorithmLaws([]), "it needs an algorithm, a subject, a list"],
    [() => algorithmLaws([untyped(null)]), "it needs an algorithm, a subject, a list"],
    [() => algorithmLaws(untyped(null)), "current value is null"],
    [
      () => storeLaws(untyped(memoryStore())),
      "Cannot make storeLaws as makeStore must be a function: current value is an object",
    ],
    [() => storeLaws(memoryStore, { subjects: untyped({}) }), "it needs an algorithm, a subject"],
    [
      () => limiterLaws(untyped(limiter(gcra({ limit: 1, period: 1, burst: 1 })))),
      "Cannot make limiterLaws as makeLimiter must be a function",
    ],
  ];
  for (const [make, message] of wrong) {
    assert.throws(make, ({ name, message: text }: Error) => {
      assert.equal(name, "TypeError", text);
      assert.ok(text.includes(message), text);
      return true;
    });
  }
});
