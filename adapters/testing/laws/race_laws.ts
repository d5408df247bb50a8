/*
 * The laws of concurrent calls on a store: limits hold exactly, overlapping calls are linearizable,
 * and batches are all or nothing and never deadlock.
 */

import fc from "fast-check";
import type { Decision } from "../../../core/decision.ts";
import { linearization, type ObservedCall } from "../linearization.ts";
import { operationOn, runOn } from "../stores/tested_key.ts";
import { table } from "../table.ts";
import { expectSame } from "./expect_same.ts";
import { type MakeStoreLaw, type StoreCase, storeLaw } from "./store_fixture.ts";

/** One of several concurrent calls. */
export interface RacingCall {
  /** Units. */
  readonly cost: number;
  /** Milliseconds after the origin. */
  readonly at: number;
  readonly dry: boolean;
}

/** Several callers at once: no unit is granted twice. */
export const raceLaws = (): readonly MakeStoreLaw[] => [
  storeLaw({
    name: "N concurrent callers of a limit L are admitted exactly L times",
    draw: fc.integer({ min: 1, max: 12 }),
    async holds({ tested: { algorithm: { capacity } }, call }, shares) {
      const cost = Math.ceil(capacity / shares);
      const admissible = Math.floor(capacity / cost);
      const callers = Array.from(
        { length: admissible + 4 },
        (_, i) => call(cost, { lane: i % 2 === 1 }),
      );
      const admitted = (await Promise.all(callers)).filter(({ allowed }) => allowed);
      expectSame(admitted.length, admissible, "admitted:");
    },
  }),
  storeLaw({
    name: "calls that overlap are answered as if they came in some order",
    draw: races(),
    holds: expectOrder,
  }),
  storeLaw({
    name: "calls on several keys at once are all or nothing, and none waits for another forever",
    subjects: [2, 2],
    keys: ["one", "other"],
    async holds({ store, keys, now }) {
      const capacity = Math.min(...keys.map((tested) => tested.algorithm.capacity));
      const cost = Math.ceil(capacity / 5);
      const operations = keys.map((tested) => operationOn(tested, cost));
      const batches = Array.from(
        { length: 8 },
        (_, i) => store.run(i % 2 === 0 ? operations : [...operations].reverse(), now),
      );
      const answers = await Promise.all(batches) as readonly (readonly Decision[])[];
      const admitted = answers.filter((all) => all.every(({ allowed }) => allowed)).length;
      expectSame(admitted, Math.floor(capacity / cost), "admitted:");
      for (const tested of keys) {
        const { remaining } = await runOn(store, tested, 0, now);
        const left = tested.algorithm.capacity - admitted * cost;
        expectSame(remaining, left, `left of ${tested.stored}:`);
      }
    },
  }),
];

/** Waves of calls that overlap. */
export function races(): fc.Arbitrary<RacingCall[][]> {
  const call = fc.record({
    cost: fc.oneof(fc.constant(1), fc.integer({ min: -2, max: 4 })),
    at: fc.nat({ max: 30 }),
    dry: fc.nat({ max: 7 }).map((n) => n === 7),
  });
  return fc.array(fc.array(call, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 });
}

/**
 * Makes the calls of each wave at once, and requires that in some order of all calls the bare
 * reducer gives the same answers.
 */
export async function expectOrder(
  { store, tested, now: origin }: StoreCase,
  waves: readonly (readonly RacingCall[])[],
): Promise<void> {
  const history: ObservedCall[] = [];
  let tick = 0;
  for (const wave of waves) {
    await Promise.all(wave.map(async ({ cost: drawn, at, dry }, i) => {
      // A look at a refund is a look at the balance.
      const cost = dry ? Math.max(0, drawn) : drawn;
      const start = tick++;
      const now = origin + at;
      const decision = await runOn(store, tested, cost, now, { dry, lane: i % 2 === 1 });
      history.push({ start, end: tick++, now, cost, dry, decision });
    }));
  }
  if (linearization(tested.algorithm, history) !== undefined) return;
  const rows = history.map((call) => ({
    ...call,
    expected: `in some order, from ${call.start} to ${call.end}`,
  }));
  throw new Error(`No order of these calls explains their answers\n${table(rows)}`);
}
