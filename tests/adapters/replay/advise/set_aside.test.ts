import assert from "node:assert/strict";
import { test } from "node:test";

import { setAside } from "../../../../adapters/replay/advise/set_aside.ts";

/** Who is set aside, of clients that need so much within ten seconds. */
function apartOf(needs: readonly number[], least = 0): number[] {
  const none = () => new Uint8Array(needs.length);
  const most = Float64Array.from(needs);
  const flags = setAside(
    { spans: [10_000], most: [most], units: most, steady: none(), regular: none() },
    { ordinary: none(), apart: none(), least },
  );
  return [...flags.keys()].filter((client) => flags[client] === 1);
}

test("a gap sets apart from twenty clients on", () => {
  const needs = (clients: number) => [40, ...Array<number>(clients - 1).fill(5)];
  assert.deepEqual([19, 20].map((clients) => apartOf(needs(clients))), [[], [0]]);
});

test("a gap counts from what anybody may need", () => {
  const needs = [12, ...Array<number>(20).fill(5)];
  assert.deepEqual([5, 6, 7].map((least) => apartOf(needs, least)), [[0], [0], []]);
});
