import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseList } from "structured-headers";

import { type HeaderForm, headerWriter, retryAfterField } from "../../../../adapters/http/http.ts";
import { problem } from "../../../../adapters/http/http.ts";
import type { Policy } from "../../../../core/algorithm.ts";
import { calendarWindow } from "../../../../mod.ts";
import vectors from "../../../vectors/http_headers.json" with { type: "json" };

interface VectorPolicy {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number | null;
  readonly remaining?: number;
  readonly nextMs?: number | null;
  readonly resetMs?: number | null;
  readonly unit?: string;
  readonly partition?: string;
}

const FORMS: readonly HeaderForm[] = ["draft-11", "draft-7", "draft-6", "legacy"];

/** The lines of a vector about the limit; `Retry-After` is the engine's. */
function linesOf(policies: readonly VectorPolicy[], form: HeaderForm, now: number): string[] {
  const [{ unit, partition }] = policies as [VectorPolicy];
  const write = headerWriter(policies.map(policyOf), { headers: form, unit: unit as never });
  const quotas = policies.map(({ remaining, nextMs, resetMs }) => ({
    remaining: remaining!,
    nextAfter: nextMs ?? 0,
    resetAfter: resetMs ?? 0,
  }));
  return write(quotas, now, partition).map(([name, value]) => `${name}: ${value}`);
}

function policyOf({ name, limit, windowMs }: VectorPolicy): Policy {
  return { name, limit, period: windowMs ?? Infinity, burst: limit };
}

describe("the header lines of the vector", () => {
  for (const { name, nowMs, policies, expect } of vectors.decisions) {
    const forms = FORMS.filter((form) => form in expect);
    for (const form of forms) {
      test(`${form}: ${name}`, () => {
        const expected = (expect as Partial<Record<HeaderForm, readonly string[]>>)[form]!;
        const lines = linesOf(policies, form, nowMs);
        assert.deepEqual(lines, expected.filter((line) => !line.startsWith("Retry-After")));
      });
    }
  }
});

describe("the fields of draft-11", () => {
  test("have the length of the calendar's window that a call falls in", () => {
    const options = { limit: 10, every: "month", zone: "UTC", name: "month" } as const;
    const write = headerWriter(calendarWindow(options).policies);
    const quota = { remaining: 9, nextAfter: 1_000, resetAfter: 1_000 };
    for (const [date, days] of [["2026-02-10", 28], ["2026-03-10", 31]] as const) {
      assert.deepEqual(write([quota], Date.parse(date), "A"), [
        ["RateLimit-Policy", `"month";q=10;w=${days * 86_400};pk=:QQ==:`],
        ["RateLimit", '"month";r=9;t=1;pk=:QQ==:'],
      ]);
    }
  });

  for (const { name, nowMs, policies } of vectors.decisions) {
    test(`are structured lists: ${name}`, () => {
      for (const line of linesOf(policies, "draft-11", nowMs)) {
        const names = parseList(line.slice(line.indexOf(":") + 2)).map(([item]) => item);
        assert.deepEqual(names, policies.map((policy) => policy.name));
      }
    });
  }
});

describe("a policy that fields cannot express is refused", () => {
  for (const { name, policy, error } of vectors.invalidSerialize) {
    test(`${name}: ${error}`, () => {
      assert.throws(() => headerWriter([policyOf(policy)]), RangeError);
    });
  }

  for (const name of ["a\r\nSet-Cookie: b=c", "a\nb", "a\0b", "a\tb", "\x7f", "\u2028", "😀"]) {
    test(`the name ${JSON.stringify(name)}`, () => {
      const policy = { name, limit: 1, period: 1000, burst: 1 };
      for (const headers of FORMS) {
        assert.throws(() => headerWriter([policy], { headers }), RangeError);
      }
    });
  }
});

describe("the problem of the vector", () => {
  for (const { type, body } of vectors.problemTypes) {
    test(type, () => {
      assert.deepEqual(problem(type as never, body["violated-policies"]), body);
    });
  }
});

describe("several forms", () => {
  const policies = [{ name: "api", limit: 10, period: 60_000, burst: 10 }];
  const quotas = [{ remaining: 3, nextAfter: 1800, resetAfter: 37_800 }];
  const fieldsOf = (headers: readonly HeaderForm[] | HeaderForm | false) =>
    headerWriter(policies, { headers })(quotas, 0).map(([name]) => name);

  const names = (prefix: string) =>
    ["Limit", "Remaining", "Reset"].map((name) => `${prefix}RateLimit-${name}`);
  const current = ["RateLimit-Policy", "RateLimit"];
  const forms: [headers: readonly HeaderForm[] | false, fields: readonly string[]][] = [
    [["legacy", "draft-11"], [...current, ...names("X-")]],
    // No field twice.
    [["draft-6", "draft-11"], [...current, ...names("")]],
    [false, []],
    [[], []],
  ];
  for (const [headers, fields] of forms) {
    test(`stand side by side: ${headers}`, () => assert.deepEqual(fieldsOf(headers), fields));
  }

  test("must be known, and of different fields", () => {
    assert.throws(() => fieldsOf(["draft-7", "draft-11"]), TypeError);
    assert.throws(() => fieldsOf("draft-8" as HeaderForm), TypeError);
    assert.throws(() => fieldsOf(8 as never), TypeError);
  });
});

test("policies of one name are numbered", () => {
  const policy = { name: "api", limit: 10, period: 60_000, burst: 10 };
  const quota = { remaining: 3, nextAfter: 0, resetAfter: 0 };
  const write = headerWriter([policy, policy, { ...policy, name: "api-2" }]);
  assert.deepEqual(write([quota, quota, quota], 0), [
    ["RateLimit-Policy", '"api";q=10;w=60, "api-2";q=10;w=60, "api-2-2";q=10;w=60'],
    ["RateLimit", '"api";r=3, "api-2";r=3, "api-2-2";r=3'],
  ]);
});

test("of policies with equally little left, the older forms show the first", () => {
  const policies = [100, 10].map((limit) => ({
    ...{ name: `of ${limit}`, limit, period: 60_000, burst: limit },
  }));
  const left = { remaining: 3, nextAfter: 1_000, resetAfter: 7_000 };
  const write = headerWriter(policies as readonly Policy[], { headers: "legacy" });
  assert.deepEqual(write([left, left], 0)[0], ["X-RateLimit-Limit", "100"]);
});

test("Retry-After is at least a second", () => {
  assert.deepEqual([0, 1, 1_000, 1_001].map((wait) => retryAfterField(wait)[1]), [
    "1",
    "1",
    "1",
    "2",
  ]);
});
