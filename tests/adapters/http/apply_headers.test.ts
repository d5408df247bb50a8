import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { applyHeaders } from "../../../adapters/http/apply_headers.ts";
import type { HeaderField } from "../../../adapters/http.ts";

/** What a field is after it was set where another value stood. */
function joined(before: string, after: string): string | undefined {
  const fields = new Map<string, string>([["RateLimit-Policy", before]]);
  const field: HeaderField = ["RateLimit-Policy", after];
  applyHeaders({ get: (name) => fields.get(name), set: (...pair) => fields.set(...pair) }, [field]);
  return fields.get("RateLimit-Policy");
}

describe("fields of two limits", () => {
  test("are one list, in which each policy stands once, as the second tells it", () => {
    assert.equal(joined('"a";q=1', '"b";q=2'), '"a";q=1, "b";q=2');
    assert.equal(joined('"a";q=1, "b";q=1', '"b";q=2'), '"a";q=1, "b";q=2');
    assert.equal(joined('"a, \\"b";q=1;w=60', '"a, \\"b";q=2'), '"a, \\"b";q=2');
    assert.equal(joined("10;w=60, 10;w=1", "10;w=60"), "10;w=1, 10;w=60");
  });

  test("take what is no list as it is", () => {
    assert.equal(joined(' , "a";q=1,,', '"b";q=2'), '"a";q=1, "b";q=2');
    assert.equal(joined('"a', '"b";q=2'), '"a, "b";q=2');
    assert.equal(joined("\\, \\", '"b";q=2'), '\\, \\, "b";q=2');
  });

  test("look at each character of the first once, be it as long and as broken as it may", () => {
    const before = '\\"'.repeat(100_000);
    assert.equal(joined(before, '"b";q=2'), `${before}, "b";q=2`);
  });
});
