import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import type { SplitReducer } from "../../../core/algorithm.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { charge } from "../../../core/verbs/charge.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { refund } from "../../../core/verbs/refund.ts";
import { type Algorithm, fixedWindow, gcra, memoryStore } from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

interface Boxed {
  readonly inner: number;
}

/**
 * An algorithm whose states are numbers, and after an odd cost objects: as with something that a state
 * remembers only now and then.
 */
function boxing(algorithm: Algorithm<number>): Algorithm {
  const { take, decide, charge } = algorithm.internals!.halves!;
  const plain = (state: number | Boxed) => typeof state === "object" ? state.inner : state;
  const boxed = (before: number | Boxed, after: number, cost: number) =>
    after === plain(before) ? before : after !== 0 && cost % 2 !== 0 ? { inner: after } : after;
  const halves: SplitReducer<number | Boxed> = {
    take: (state, now, cost) => boxed(state, take(plain(state), now, cost), cost),
    decide: (state, next, now, cost) =>
      decide(plain(state), next === state ? plain(state) : plain(next), now, cost),
    charge: (state, now, cost) => boxed(state, charge(plain(state), now, cost), cost),
  };
  const { arrival } = algorithm.internals!;
  return { ...algorithm, internals: { halves, arrival } } as unknown as Algorithm;
}

const verbs = { consume, charge, refund, peek };
const acts = fc.array(
  fc.record({
    verb: fc.constantFrom<keyof typeof verbs>("consume", "charge", "refund", "peek"),
    key: fc.constantFrom("a", "b", "c"),
    units: fc.integer({ min: 0, max: 5 }),
    gap: fc.constantFrom(0, 1, 400, 9_000),
    inBatch: fc.boolean(),
  }),
  { maxLength: 60 },
);

for (
  const algorithm of [
    gcra({ limit: 6, period: "6s", burst: 6 }),
    fixedWindow({ limit: 6, period: "6s" }),
  ] as Algorithm<number>[]
) {
  test(`a state may be a number after one call and an object after the next: ${algorithm.id}`, () => {
    fc.assert(
      fc.property(acts, fc.boolean(), (acts, isFull) => {
        const own = boxing(algorithm);
        const store = memoryStore(isFull ? { maxBytes: 1_024 } : {});
        const family = store.open({ prefix: "p", algorithm: own, older: [] });
        const states = new Map<string, unknown>();
        let now = 1_790_000_000_000;
        for (const { verb: name, key, units, gap, inBatch } of acts) {
          now += gap;
          const bound = family.bind(verbs[name]);
          const { next: nextOf, answer: answerOf } = bound.steps;
          const state = states.get(key) ?? own.initial;
          const next = nextOf(state, now, units);
          const wanted = answerOf(state, next, now, units);
          states.set(key, next);
          const answer = inBatch
            ? store.run([{ bound, key, argument: units }], now)[0]
            : bound.call(key, units, now);
          assert.deepEqual(answer, wanted);
        }
        for (const key of states.keys()) family.delete(key);
        assert.deepEqual([store.statistics().keys, store.statistics().bytes], [0, 0]);
      }),
      fcOptions({ numRuns: 300 }),
    );
  });
}
