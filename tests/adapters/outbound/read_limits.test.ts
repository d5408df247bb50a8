import fc from "fast-check";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseList, serializeList } from "structured-headers";

import { readLimits } from "../../../adapters/outbound/limited_fetch.ts";
import { parseWait } from "../../../adapters/outbound/parse_waits.ts";
import { waitFor } from "../../../adapters/outbound/read_limits.ts";
import {
  type BareItem,
  parseStructuredList,
} from "../../../adapters/outbound/parse_structured_list.ts";
import { fcOptions } from "../../support/seed.ts";
import vectors from "../../vectors/http_headers.json" with { type: "json" };

function headersOf(lines: readonly string[]): Headers {
  return new Headers(lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as [string, string];
  }));
}

/** A list in the vectors' form. Its strings and numbers are read. */
function structured(field: string) {
  const list = parseStructuredList(field);
  return list === undefined ? null : list.map(({ value, parameters }) => ({
    name: value,
    params: Object.fromEntries(parameters),
  }));
}

function read(item: unknown): BareItem {
  return typeof item === "string" || typeof item === "number" ? item : undefined;
}

describe("a field of the vector", () => {
  for (const vector of vectors.parse) {
    test(`is read as a structured list, and taken or left: ${vector.field}: ${vector.value}`, () => {
      const members = vector.structured?.map(({ name, params }) => ({
        name: read(name),
        params: Object.fromEntries(Object.entries(params).map(([key, item]) => [key, read(item)])),
      }));
      assert.deepEqual(structured(vector.value), members ?? null);
      if (vector.field !== "RateLimit") return;
      const { quotas } = readLimits(new Headers({ RateLimit: vector.value }), 0);
      assert.equal(quotas.length > 0, vector.valid);
    });
  }
});

test("dates and display strings are items", () => {
  assert.deepEqual(structured('"a";d=@1659578233;e=%"f%c3%bc"'), [
    { name: "a", params: { d: undefined, e: undefined } },
  ]);
  assert.equal(structured('"a";d=@1.5'), null);
  assert.equal(structured('"a";e=%"%c3"'), null);
});

describe("Retry-After of the vector", () => {
  for (const { value, nowMs, waitMs } of vectors.retryAfter) {
    test(JSON.stringify(value), () => {
      assert.equal(parseWait(value, nowMs), waitMs ?? undefined);
    });
  }

  test("in the old form of two digits for the year", () => {
    const now = Date.UTC(2025, 10, 24, 16, 0, 0);
    assert.equal(parseWait("Monday, 24-Nov-25 16:00:05 GMT", now), 5_000);
    assert.equal(parseWait("Monday, 24-Nov-94 16:00:05 GMT", now), 0);
    assert.equal(parseWait("Mon, 24 Foo 2025 16:00:05 GMT", now), undefined);
  });
});

describe("the vendor's answer of the vector", () => {
  for (const { vendor, headers, normalised } of vectors.vendors) {
    test(vendor, () => {
      const found = readLimits(headersOf(headers), 1_764_000_000_000);
      const [scarcest] = [...found.quotas].sort((one, other) => one.remaining! - other.remaining!);
      const { limit, remaining, resetMs, waitMs } = normalised as Record<string, number>;
      assert.equal(scarcest?.remaining, remaining);
      if (limit !== undefined) assert.equal(scarcest?.limit, limit);
      if (resetMs !== undefined) assert.equal(scarcest?.resetAfter, resetMs);
      assert.equal(waitFor(found), waitMs);
    });
  }
});

const NOW = Date.UTC(2026, 0, 1);
const DATE = "Date: Wed, 31 Dec 2025 23:00:00 GMT";
const NEW_YEAR = "Retry-After: Thu, 01 Jan 2026 00:00:09 GMT";
const NONE_LEFT = "X-RateLimit-Remaining: 0";

/** Other answers, and how long they ask to wait. */
const ANSWERS: readonly (readonly [what: string, wait: number | undefined, ...lines: string[]])[] =
  [
    [
      "Anthropic",
      7_000,
      "anthropic-ratelimit-requests-remaining: 9",
      "anthropic-ratelimit-requests-reset: 2026-01-01T00:00:59Z",
      "anthropic-ratelimit-tokens-remaining: 0",
      "anthropic-ratelimit-tokens-reset: 2026-01-01T00:00:07Z",
    ],
    [
      "GitLab, revision 6 with an instant",
      30_000,
      "RateLimit-Limit: 60",
      "RateLimit-Remaining: 0",
      `RateLimit-Reset: ${NOW / 1000 + 30}`,
    ],
    ["Reddit, a fraction", 245_000, "x-ratelimit-remaining: 0.0", "x-ratelimit-reset: 245"],
    ["revision 7", 5_000, "RateLimit: limit=100, remaining=0, reset=5"],
    ["milliseconds", 250, "Retry-After-Ms: 250", "Retry-After: 1"],
    ["Azure", 1_500, "x-ms-retry-after-ms: 1500", "Retry-After: 2"],
    ["the server's clock", 9_000, DATE, "Retry-After: Wed, 31 Dec 2025 23:00:09 GMT"],
    ["its reset", 10_000, DATE, NONE_LEFT, `X-RateLimit-Reset: ${NOW / 1000 - 3_590}`],
    ["an absurd clock", 9_000, "Date: Mon, 31 Dec 1990 23:00:00 GMT", NEW_YEAR],
    ["no date", 9_000, "Date: today", NEW_YEAR],
    ["no remaining", undefined, "X-RateLimit-Reset: 60"],
    ["no reset", undefined, NONE_LEFT, "X-RateLimit-Reset: soon"],
    ["nothing", undefined, "X-Powered-By: PHP"],
  ];

for (const [what, wait, ...lines] of ANSWERS) {
  test(`an answer is read: ${what}`, () => {
    assert.equal(waitFor(readLimits(headersOf(lines), NOW)), wait);
  });
}

test("a field of spaces takes no longer than any other", () => {
  const field = `"a"${" ".repeat(8_000)}"b"`;
  // In quadratic time these would take half a minute, which no runner waits for.
  for (let call = 0; call < 1_000; call++) assert.equal(parseStructuredList(field), undefined);
});

test("a long name of a field takes no longer than any other", () => {
  const headers = new Headers([[`x-ratelimit${"-limit".repeat(10_000)}1`, "1"]]);
  // In quadratic time these would take half an hour.
  for (let call = 0; call < 1_000; call++) assert.deepEqual(readLimits(headers, 0).quotas, []);
});

test("a wait that is very long, or a fraction, is never taken for a shorter one", () => {
  const waits: [Record<string, string>, number][] = [
    [{ "Retry-After": "99999999999" }, 99_999_999_999_000],
    [{ "Retry-After": "30.25" }, 30_250],
    [{ "Retry-After-Ms": "99999999999999" }, 99_999_999_999_999],
    [{ "Retry-After-Ms": "0.5" }, 1],
  ];
  for (const [fields, wait] of waits) {
    assert.equal(waitFor(readLimits(new Headers(fields), 0)), wait, JSON.stringify(fields));
  }
});

test("times of reset are read in every form", () => {
  const now = 1_764_000_000_000;
  const forms: [text: string, wait: number | undefined][] = [
    ["5", 5_000],
    ["0.25", 250],
    ["1764000005", 5_000],
    ["1764000005.5", 5_500],
    ["1764000005000", 5_000],
    ["1763999999", 0],
    ["1h2m3s", 3_723_000],
    ["20ms", 20],
    ["1.5s", 1_500],
    ["", undefined],
    ["-1", undefined],
    ["1e9", undefined],
    ["9".repeat(40), undefined],
    ["NaN", undefined],
  ];
  for (const [text, wait] of forms) assert.equal(parseWait(text, now), wait, text);
});

describe("any field", () => {
  const key = fc.stringMatching(/^[a-z*][a-z0-9_*.-]{0,5}$/);
  const item: fc.Arbitrary<string | number | boolean> = fc.oneof(
    fc.stringMatching(/^[\x20-\x7e]{0,10}$/),
    fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 }),
    fc.boolean(),
  );
  const parameters = fc.uniqueArray(fc.tuple(key, item), {
    selector: ([key]) => key,
    maxLength: 4,
  });
  const list = fc.array(fc.tuple(item, parameters), { minLength: 1, maxLength: 5 });

  test("that structured-headers writes is read as it was", () => {
    fc.assert(
      fc.property(list, (list) => {
        const text = serializeList(list.map(([value, entries]) => [value, new Map(entries)]));
        const members = parseStructuredList(text)?.map(({ value, parameters }) => [
          value,
          [...parameters],
        ]);
        const expected = list.map(([value, entries]) => [
          read(value),
          entries.map(([key, item]) => [key, read(item)]),
        ]);
        assert.deepEqual(members, expected);
      }),
      fcOptions({ numRuns: 500 }),
    );
  });

  test("is malformed for us if it is for structured-headers", () => {
    const characters = fc.constantFrom(...'"\\;,= ab1-.:?0*\t%c3');
    // Without dates: structured-headers 2.1.0 takes nothing after them.
    const field = fc.oneof(fc.string({ unit: characters, maxLength: 20 }), fc.string())
      .filter((field) => !field.includes("@"));
    fc.assert(
      fc.property(field, (field) => {
        let expected: number | undefined;
        try {
          const items = parseList(field);
          if (items.some(([value]) => Array.isArray(value))) return;
          expected = items.length;
        } catch {
          expected = undefined;
        }
        assert.equal(parseStructuredList(field)?.length, expected);
      }),
      fcOptions({ numRuns: 3_000 }),
    );
  });

  test("of a server is read without throwing", () => {
    const names = ["ratelimit", "ratelimit-policy", "retry-after", "x-ratelimit-reset"];
    const text = fc.string({ unit: fc.constantFrom(...'"a;r=1t0,.:-GMTs'), maxLength: 40 });
    fc.assert(
      fc.property(fc.constantFrom(...names), text, (name, text) => {
        const { retryAfter, quotas } = readLimits(new Headers({ [name]: text }), 0);
        for (const wait of [retryAfter, ...quotas.map(({ resetAfter }) => resetAfter)]) {
          assert.ok(wait === undefined || (wait >= 0 && wait < Infinity));
        }
      }),
      fcOptions({ numRuns: 1_000 }),
    );
  });

  test("reads an instant in every field that has a time, in seconds or milliseconds", () => {
    const now = 1_764_000_000_000;
    const soon = now / 1_000 + 5;
    for (const instant of [`${soon}`, `${soon * 1_000}`]) {
      for (const name of ["retry-after", "retry-after-ms", "x-ms-retry-after-ms"]) {
        const headers = new Headers({ [name]: instant });
        assert.equal(readLimits(headers, now).retryAfter, 5_000, `${name}: ${instant}`);
      }
      const forms: readonly Record<string, string>[] = [
        { ratelimit: `"a";r=0;t=${instant}` },
        { ratelimit: `limit=5, remaining=0, reset=${instant}` },
        { "ratelimit-remaining": "0", "ratelimit-reset": instant },
        { "x-ratelimit-remaining": "0", "x-ratelimit-reset-after": instant },
        {
          "anthropic-ratelimit-tokens-remaining": "0",
          "anthropic-ratelimit-tokens-reset": instant,
        },
      ];
      for (const fields of forms) {
        const { quotas } = readLimits(new Headers(fields), now);
        assert.equal(quotas[0]?.resetAfter, 5_000, JSON.stringify(fields));
      }
    }
    assert.equal(readLimits(new Headers({ "retry-after": `${soon - 10}` }), now).retryAfter, 0);
  });
});
