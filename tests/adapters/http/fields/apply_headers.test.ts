import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { applyHeaders } from "../../../../adapters/http/fields/apply_headers.ts";
import type { HeaderField } from "../../../../adapters/http/http.ts";

/** A field's value once it has been set over another one. */
function joined(before: string, after: string, name = "RateLimit-Policy"): string | undefined {
  const fields = new Map<string, string>([[name, before]]);
  const field: HeaderField = [name, after];
  applyHeaders({ get: (name) => fields.get(name), set: (...pair) => fields.set(...pair) }, [field]);
  return fields.get(name);
}

describe("fields of two limits", () => {
  test("are one list, in which each policy stands once, as the second has it", () => {
    assert.equal(joined('"a";q=1', '"b";q=2'), '"a";q=1, "b";q=2');
    assert.equal(joined('"a";q=1, "b";q=1', '"b";q=2'), '"a";q=1, "b";q=2');
    assert.equal(joined('"a, \\"b";q=1;w=60', '"a, \\"b";q=2'), '"a, \\"b";q=2');
    assert.equal(joined("10;w=60, 10;w=1", "10;w=60"), "10;w=1, 10;w=60");
  });

  test("leave a field that is no list as it is", () => {
    assert.equal(joined(' "a";q=1,, ,', '"b";q=2'), '"a";q=1, "b";q=2');
    assert.equal(joined('"a', '"b";q=2'), '"a, "b";q=2');
  });

  test("of different forms are no list: the second takes the place of the first", () => {
    const [old, now] = ["limit=9, remaining=5, reset=5", '"a";r=1'];
    assert.equal(joined(old, now, "RateLimit"), now);
    assert.equal(joined(now, old, "RateLimit"), old);
    assert.equal(joined("limit=1, remaining=1, reset=1", old, "RateLimit"), old);
    assert.equal(joined("9;w=60", '"a";q=1'), '"a";q=1');
    assert.equal(joined('"a";q=1', "9;w=60"), "9;w=60");
    assert.equal(
      joined("X-Other", "RateLimit", "Access-Control-Expose-Headers"),
      "X-Other, RateLimit",
    );
    assert.equal(joined("9", "10", "X-RateLimit-Limit"), "10");
  });

  test("look at each character of the first once, however long and malformed it is", () => {
    const before = '"\\"\\'.repeat(50_000);
    assert.ok(joined(before, '"b";q=2') === `${before}, "b";q=2`);
  });
});
