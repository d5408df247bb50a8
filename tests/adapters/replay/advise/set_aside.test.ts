import assert from "node:assert/strict";
import { test } from "node:test";

import { setAside } from "../../../../adapters/replay/advise/set_aside.ts";

/** The clients that are set aside, by their needs within a span. Some are steady or ordinary. */
function apartOf(
  needs: readonly number[],
  { least = 0, span = 10_000, steady = [] as number[], ordinary = [] as number[] } = {},
): number[] {
  const flagsOf = (clients: readonly number[]) =>
    Uint8Array.from(needs, (_, client) => clients.includes(client) ? 1 : 0);
  const most = Float64Array.from(needs);
  const flags = setAside(
    { spans: [span], most: [most], units: most, steady: flagsOf(steady), regular: flagsOf([]) },
    { ordinary: flagsOf(ordinary), apart: flagsOf([]), least },
  );
  return [...flags.keys()].filter((client) => flags[client] === 1);
}

/** So many clients that need as much. */
function alike(clients: number, need: number): number[] {
  return Array<number>(clients).fill(need);
}

test("a gap sets apart from twenty clients on", () => {
  const needs = (clients: number) => [40, ...Array<number>(clients - 1).fill(5)];
  assert.deepEqual([19, 20].map((clients) => apartOf(needs(clients))), [[], [0]]);
});

test("among few clients a steady one is set apart from ten times the need of the others", () => {
  const needs = (clients: number, need: number) => [need, ...alike(clients - 1, 5)];
  const steady = [0];
  assert.deepEqual(apartOf(needs(19, 49), { steady }), []);
  assert.deepEqual(apartOf(needs(19, 50), { steady }), [0]);
  assert.deepEqual(apartOf(needs(8, 50), { steady }), [0]);
  assert.deepEqual(apartOf(needs(7, 500), { steady }), []);
  assert.deepEqual(apartOf(needs(19, 500)), []);
});

test("a gap counts only above the needs that any client may have", () => {
  const needs = [12, ...Array<number>(20).fill(5)];
  assert.deepEqual([5, 6, 7].map((least) => apartOf(needs, { least })), [[0], [0], []]);
});

test("a gap is twice as much within ten seconds, four times within minutes, five within an hour", () => {
  const widths = [[10_000, 2], [600_000, 4], [3_600_000, 5]] as const;
  for (const [span, width] of widths) {
    assert.deepEqual(apartOf([10 * width, ...alike(20, 10)], { span }), [0], `${span} ms`);
    assert.deepEqual(apartOf([10 * width - 1, ...alike(20, 10)], { span }), [], `${span} ms`);
  }
});

test("a need of less than ten is nobody's fault", () => {
  assert.deepEqual(apartOf([9, ...alike(20, 2)]), []);
  assert.deepEqual(apartOf([10, ...alike(20, 2)]), [0]);
});

test("a gap is looked for above the first eight clients, or above one in twenty", () => {
  const needs = (attackers: number, others: number) => [
    ...alike(attackers, 100),
    ...alike(others, 10),
  ];
  assert.deepEqual([8, 9].map((attackers) => apartOf(needs(attackers, 40)).length), [8, 0]);
  assert.deepEqual([20, 21].map((attackers) => apartOf(needs(attackers, 390)).length), [20, 0]);
});

test("a steady client is compared with the busiest of all others, the ordinary steady ones too", () => {
  assert.deepEqual(apartOf([15, ...alike(20, 10)], { steady: [0] }), [0]);
  assert.deepEqual(apartOf([14, ...alike(20, 10)], { steady: [0] }), []);
  const monitored = [25, 20, ...alike(20, 10)];
  assert.deepEqual(apartOf(monitored, { steady: [0, 1], ordinary: [1] }), []);
  assert.deepEqual(apartOf(monitored, { steady: [0, 1] }), [0, 1]);
});
