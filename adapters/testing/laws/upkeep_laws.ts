/*
 * The laws of a store beyond its answers to valid calls: its own time, changed options, bad input
 * and closing.
 */

import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import { haveLikeParts } from "../../../core/carry_over.ts";
import type { ReplaceMode, StoreBase } from "../../../core/store.ts";
import { runOn, testedKey } from "../stores/tested_key.ts";
import { inWords } from "../table.ts";
import { expectError, expectSame } from "./expect_same.ts";
import { type MakeStore, type MakeStoreLaw, storeLaw } from "./store_fixture.ts";

/** All of them except `closingLaw`, which needs stores of its own. */
export const upkeepLaws = (): readonly MakeStoreLaw[] => [
  storeLaw({
    name: "without an instant a store decides at its own time",
    draw: fc.boolean(),
    async holds({ store, tested }, lane) {
      const { capacity } = tested.algorithm;
      const over = await runOn(store, tested, capacity + 1, undefined, { lane });
      const full = await runOn(store, tested, capacity, undefined, { lane });
      const fresh = !over.allowed && over.remaining === capacity && full.allowed &&
        full.remaining === 0 && full.resetAfter > 0;
      if (!fresh) throw new Error(`Expected a fresh key, not ${inWords(over)}; ${inWords(full)}`);
    },
  }),
  storeLaw({
    name: "a changed limit takes over what its older options had used",
    subjects: [2, 2],
    draw: fc.record({
      mode: fc.constantFrom<ReplaceMode>("keep", "proportional"),
      share: fc.nat({ max: 100 }),
      lane: fc.boolean(),
    }),
    async holds({ store, keys: [old, tested], now }, { mode, share, lane }) {
      if (old === undefined || tested === undefined) return;
      const [before, { capacity }] = [old.algorithm.capacity, tested.algorithm];
      const earlier = Math.floor(before * share / 100);
      await runOn(store, old, earlier, now);
      const older = [{ algorithm: old.algorithm, mode }];
      const { prefix, algorithm, key } = tested;
      const family = (store as StoreBase).open({ prefix, algorithm, older });
      const run = (cost: number, dry: boolean) =>
        runOn(store, { key, family }, cost, now, { dry, lane });
      const seen = leftAfter(mode, earlier, old.algorithm, tested.algorithm);
      expectSame((await run(1, true)).allowed, seen >= 1, "a dry run's allowed:");
      // A dry run takes nothing over: processes with the older options still use the older key.
      const used = Math.min(earlier + 1, before);
      await runOn(store, old, used - earlier, now);
      const left = leftAfter(mode, used, old.algorithm, tested.algorithm);
      const untouched = inWords(await runOn(store, old, 0, now));
      // A refusal takes over, too: otherwise the next call would convert the older state again.
      await run(capacity + 1, false);
      expectSame(
        inWords(await runOn(store, old, 0, now)),
        untouched,
        "the older key after a call:",
      );
      expectSame((await run(0, false)).remaining, left, `left after ${mode}:`);
      const taken = Math.min(left, 1);
      await run(1, false);
      expectSame(
        (await runOn(store, tested, 0, now)).remaining,
        left - taken,
        "left after a call:",
      );
      // Used up twice, for a store may remember refusals.
      for (let calls = 0; calls < 2; calls++) await runOn(store, old, before, now, { lane });
      await family.delete(key);
      expectSame((await runOn(store, old, 0, now)).remaining, before, "left of a deleted key:");
      const again = await runOn(store, old, before, now, { lane });
      expectSame(again.allowed, true, "a deleted key admits all:");
    },
  }),
  storeLaw({
    name: "a bad instant or cost is a RangeError, and changes nothing",
    async holds({ store, tested, now, call }) {
      await call(1);
      const before = inWords(await call(0));
      for (const bad of [NaN, -1, Infinity, 2 ** 42 + 1]) {
        await expectError(() => runOn(store, tested, 1, bad), [RangeError], `now ${bad}`);
      }
      for (const bad of [NaN, 0.5, Infinity, 2 ** 60]) {
        await expectError(() => runOn(store, tested, bad, now), [RangeError], `cost ${bad}`);
      }
      expectSame(inWords(await call(0)), before, "the same:");
    },
  }),
];

/** The law of closing, on stores of its own. */
export function closingLaw(make: MakeStore): MakeStoreLaw {
  return storeLaw({
    name: "a closed store answers no more",
    draw: fc.boolean(),
    async holds({ tested }, dispose) {
      const store = await make();
      const closed = testedKey(store, tested.prefix, { algorithm: tested.algorithm }, tested.key);
      await (dispose ? store[Symbol.asyncDispose]() : store.close());
      for (const lane of [false, true]) {
        await expectError(() => runOn(store, closed, 1, 0, { lane }), [Error], "a closed store");
      }
    },
  });
}

/** The units left after taking over `used` units; each part of an `all` takes over its own. */
function leftAfter(mode: ReplaceMode, used: number, old: Algorithm, algorithm: Algorithm): number {
  const [olds, parts] = [old.internals?.parts, algorithm.internals?.parts];
  return olds === undefined || parts === undefined || !haveLikeParts(old, algorithm)
    ? algorithm.capacity - carriedUse(mode, used, old.capacity, algorithm.capacity)
    : Math.min(...parts.map((part, index) => leftAfter(mode, used, olds[index]!, part)));
}

/** Units used of the new capacity when `used` units of the old one were. */
function carriedUse(mode: ReplaceMode, used: number, old: number, capacity: number): number {
  if (mode === "keep") return Math.min(used, capacity);
  const [units, olds] = [BigInt(used) * BigInt(capacity), BigInt(old)];
  return Number(units / olds + (units % olds > 0n ? 1n : 0n));
}
