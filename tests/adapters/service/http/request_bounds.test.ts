import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { readCall } from "../../../../adapters/service/envoy/read_call.ts";
import { readRequest } from "../../../../adapters/service/http/read_request.ts";
import { asRefusal } from "../../../../adapters/service/http/service_answer.ts";
import { REQUEST_BOUNDS } from "../../../../adapters/service/service.ts";

/** The faults of a request in the service's own form and in Envoy's; `undefined` if it has none. */
function faultsOf(entries: readonly (readonly [string, string])[], count = 1, units?: unknown) {
  const repeated = <Value>(value: Value) => Array<Value>(count).fill(value);
  const own = { domain: "shop", descriptors: repeated({ entries }), cost: units };
  const pairs = entries.map(([key, value]) => ({ key, value }));
  const envoy = { domain: "shop", descriptors: repeated({ entries: pairs }), hitsAddend: units };
  return [
    detailOf(() => readRequest(JSON.stringify(own), undefined, REQUEST_BOUNDS)),
    detailOf(() => {
      const { fault } = readCall(envoy, REQUEST_BOUNDS);
      if (fault !== undefined) throw fault;
    }),
  ];
}

/** Why a call is refused. */
function detailOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return asRefusal(error)!.detail;
  }
}

describe("a request of either form is refused with the same words:", () => {
  const long = "x".repeat(REQUEST_BOUNDS.maxText + 1);
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => [`k${index}`, "v"] as const);
  const cases: readonly [name: string, faults: (string | undefined)[], rule: RegExp][] = [
    ["no entries", faultsOf([]), /^entries must hold 1 to 16 entries, not 0$/],
    ["too many entries", faultsOf(many(17)), /^entries must hold 1 to 16 entries, not 17$/],
    ["no descriptors", faultsOf(many(1), 0), /^descriptors must be a list of 1 to 32 items, not 0/],
    ["too many descriptors", faultsOf(many(1), 33), /^descriptors must .* not 33 items$/],
    ["a long key", faultsOf([[long, "v"]]), /^entries must have keys of 1 to 1024 characters/],
    ["an empty key", faultsOf([["", "v"]]), /^entries must have keys of 1 to 1024 characters/],
    ["the second of two", faultsOf([], 2), /^descriptors\[0\]\.entries must hold 1 to 16/],
  ];
  for (const [name, [own, envoy], rule] of cases) {
    test(name, () => {
      assert.match(own ?? "", rule);
      assert.equal(envoy, own);
    });
  }
});

test("the forms differ in empty values, and in how many units a request may name", () => {
  assert.deepEqual(faultsOf([["k", ""]]), [
    'entries.k must be text that is not empty, not ""',
    undefined,
  ]);
  assert.deepEqual(faultsOf([["k", "v"]], 1, 2 ** 32), [
    undefined,
    "hitsAddend must be an integer from 0 to 4294967295, not 4294967296",
  ]);
});
