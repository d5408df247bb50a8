import fc from "fast-check";
import { type Law, law } from "../law.ts";
import { storeCommands, storeModel } from "../stores/store_commands.ts";
import { runOn } from "../stores/store_slots.ts";
import { slotsOf, withSlots } from "./store_fixture.ts";
import type { StoreCase } from "./store_case.ts";
import { inWords } from "../table.ts";

/** One caller: a store answers as the bare reducers do. */
export function traceLaws({ bench, subjects, writes }: StoreCase): readonly Law[] {
  const some = fc.array(subjects, { minLength: 1, maxLength: 3 });
  const origin = fc.constantFrom(0, 1_790_000_123_457);
  return [
    law(
      "the same commands give the same answers as the bare reducers",
      fc.asyncProperty(some, origin, storeCommands(), async (drawn, now, commands) => {
        await bench.use(async (store, prefix) => {
          const slots = slotsOf(store, prefix, drawn, ["a", "b"]);
          await withSlots(
            store,
            slots,
            () =>
              fc.asyncModelRun(() => ({ model: storeModel(slots, now), real: store }), commands),
          );
        });
      }),
    ),
    law(
      "a key that was deleted is fresh",
      fc.asyncProperty(subjects, origin, async (subject, now) => {
        await bench.use(async (store, prefix) => {
          const [slot] = slotsOf(store, prefix, [subject], ["key"]);
          if (slot === undefined) return;
          const { initial, step, capacity } = slot.algorithm;
          await store.delete(slot.stored);
          await runOn(store, slot, capacity, now);
          await store.delete(slot.stored);
          const look = await runOn(store, slot, 0, now);
          expectSame(inWords(look), inWords(step(initial, now, 0)[0]));
        });
      }),
    ),
    law(
      "keys do not touch each other, whatever is in them",
      fc.asyncProperty(subjects, strangeKeys(), origin, async (subject, keys, now) => {
        await bench.use(async (store, prefix) => {
          const slots = slotsOf(store, prefix, [subject], keys);
          await withSlots(store, slots, async () => {
            if (slots.length !== keys.length) throw new Error("Two keys have the same stored key");
            for (const [i, slot] of slots.entries()) {
              const decision = await runOn(store, slot, 1, now, { lane: i % 2 === 1 });
              const { initial, step } = slot.algorithm;
              expectSame(inWords(decision), inWords(step(initial, now, 1)[0]));
            }
          });
        });
      }),
    ),
    ...(writes === undefined ? [] : [law(
      "nothing is written for a refusal or a look",
      fc.asyncProperty(subjects, origin, async (subject, now) => {
        await bench.use(async (store, prefix) => {
          const slots = slotsOf(store, prefix, [subject], ["key"]);
          await withSlots(store, slots, async () => {
            const [slot] = slots;
            if (slot === undefined) return;
            const { capacity } = slot.algorithm;
            await runOn(store, slot, capacity, now);
            const before = await writes(store);
            for (const lane of [false, true]) {
              await runOn(store, slot, 1, now, { lane });
              await runOn(store, slot, capacity + 1, now, { lane });
              await runOn(store, slot, 0, now, { lane });
              await runOn(store, slot, -1, now, { lane, dry: true });
            }
            expectSame(await writes(store), before);
          });
        });
      }),
    )]),
  ];
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

function expectSame(actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected)) throw new Error(`Expected ${expected}, not ${actual}`);
}
