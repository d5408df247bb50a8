import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { keptTexts } from "../../../core/rules/kept_texts.ts";
import { fcOptions } from "../../support/seed.ts";

const MOST = 3;
const LONG = "x".repeat(200);

const calls = fc.array(
  fc.record({ start: fc.constantFrom("user=", "path="), value: fc.constantFrom(..."abcde", LONG) }),
  { maxLength: 40 },
);

test("each function returns its own texts, and so many of all are kept", () => {
  fc.assert(
    fc.property(calls, (drawn) => {
      const made: string[] = [];
      const keep = keptTexts(MOST);
      const textOf = Object.fromEntries(
        ["user=", "path="].map((start) => [
          start,
          keep((value) => {
            made.push(start + value);
            return start + value;
          }),
        ]),
      );
      let known = new Set<string>();
      const expected: string[] = [];
      for (const { start, value } of drawn) {
        const text = start + value;
        assert.equal(textOf[start]!(value), text);
        if (known.has(text)) continue;
        expected.push(text);
        if (value === LONG) continue;
        if (known.size === MOST) known = new Set();
        known.add(text);
      }
      assert.deepEqual(made, expected);
    }),
    fcOptions(),
  );
});
