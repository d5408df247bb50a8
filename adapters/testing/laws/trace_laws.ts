/*
 * The laws of a store with one caller: random commands get the answers that the bare reducers give,
 * keys stay apart, deletion works, and a refusal writes nothing.
 */

import fc from "fast-check";
import type { Store } from "../../../core/store.ts";
import { storeCommands, storeModel } from "../stores/store_commands.ts";
import { runOn, testedKey } from "../stores/tested_key.ts";
import { inWords } from "../table.ts";
import { expectSame } from "./expect_same.ts";
import { type MakeStoreLaw, storeLaw } from "./store_fixture.ts";

/** One caller at a time. */
export const traceLaws = (): readonly MakeStoreLaw[] => [
  storeLaw({
    name: "the same commands give the same answers as the bare reducers",
    subjects: [1, 3],
    keys: ["a", "b"],
    draw: storeCommands(),
    holds: ({ store, keys, now }, commands) =>
      fc.asyncModelRun(() => ({ model: storeModel(keys, now), real: store }), commands),
  }),
  storeLaw({
    name: "a key that was deleted is fresh",
    async holds({ tested: { algorithm, family, key }, now, call }) {
      await family.delete(key);
      await call(algorithm.capacity);
      await family.delete(key);
      const fresh = algorithm.step(algorithm.initial, now, 0)[0];
      expectSame(inWords(await call(0)), inWords(fresh), "a fresh key:");
    },
  }),
  storeLaw({
    name: "where all keys of a prefix were deleted they are fresh, and no others",
    async holds({ store, tested, now, call }) {
      if (store.deleteAll === undefined) return;
      const { algorithm } = tested;
      const beside = testedKey(store, `${tested.prefix}:{`, { algorithm }, "key");
      const [full, left] = [await call(algorithm.capacity, { lane: true }), "0"];
      await runOn(store, beside, algorithm.capacity, now);
      await store.deleteAll(tested.prefix);
      const fresh = inWords(algorithm.step(algorithm.initial, now, 0)[0]);
      for (const lane of [false, true]) {
        expectSame(inWords(await call(0, { lane })), fresh, "a fresh key:");
        const { remaining } = await runOn(store, beside, 0, now, { lane });
        expectSame(`${remaining}`, left, "left of a key beside it:");
      }
      expectSame(inWords(await call(algorithm.capacity)), inWords(full), "as at first:");
      await beside.family.delete(beside.key);
    },
  }),
  storeLaw({
    name: "keys do not touch each other, whatever is in them",
    keys: (drawn) => drawn,
    draw: strangeKeys(),
    async holds({ store, keys, now }, names) {
      expectSame(keys.length, names.length, "different stored keys:");
      for (const [i, tested] of keys.entries()) {
        const { initial, step } = tested.algorithm;
        const decision = await runOn(store, tested, 1, now, { lane: i % 2 === 1 });
        expectSame(inWords(decision), inWords(step(initial, now, 1)[0]), "a fresh key:");
      }
    },
  }),
];

/** The law of a store that counts its writes. */
export function writeLaw(writes: (store: Store) => number | Promise<number>): MakeStoreLaw {
  return storeLaw({
    name: "nothing is written for a refusal or a look",
    async holds({ store, tested: { algorithm: { capacity } }, call }) {
      await call(capacity);
      const before = await writes(store);
      for (const lane of [false, true]) {
        for (const cost of [1, capacity + 1, 0]) await call(cost, { lane });
        await call(-1, { lane, dry: true });
      }
      expectSame(await writes(store), before, "writes:");
    },
  });
}

/** Keys that name properties of objects, hold separators and escapes, or are long. */
const STRANGE_KEYS = [
  "__proto__",
  "constructor",
  "toString",
  "a}b",
  "a{b",
  "a%7Bb",
  "%",
  "{}",
  ":",
  " ",
  "\0",
  "\n",
  "ключ",
  "\u{1F512}",
  "x".repeat(300),
];

function strangeKeys(): fc.Arbitrary<string[]> {
  const any = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" });
  return fc.tuple(fc.shuffledSubarray(STRANGE_KEYS), fc.array(any, { maxLength: 3 }))
    .map(([strange, others]) => [...new Set([...strange, ...others])]);
}
