import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import { haveLikeParts } from "../../../core/carry_over.ts";
import type { ReplaceMode } from "../../../core/store.ts";
import { type Law, law } from "../law.ts";
import { operationOn, runOn, type StoreSlot } from "../stores/store_slots.ts";
import { inWords } from "../table.ts";
import { nextPrefix, slotsOf, withSlots } from "./store_fixture.ts";
import type { StoreCase } from "./store_case.ts";

/** What a store does beside answering: its own time, changed options, bad input, closing. */
export function upkeepLaws({ bench, make, subjects }: StoreCase): readonly Law[] {
  const origin = fc.constantFrom(0, 1_790_000_123_457);
  return [
    law(
      "without an instant a store decides at its own time",
      fc.asyncProperty(subjects, fc.boolean(), async (subject, lane) => {
        await bench.use(async (store, prefix) => {
          const slots = slotsOf(store, prefix, [subject], ["key"]);
          await withSlots(store, slots, async () => {
            const slot = slots[0] as StoreSlot;
            const { capacity } = slot.algorithm;
            const over = await runOn(store, slot, capacity + 1, undefined, { lane });
            const full = await runOn(store, slot, capacity, undefined, { lane });
            const told = !over.allowed && over.remaining === capacity && full.allowed &&
              full.remaining === 0 && full.resetAfter > 0;
            if (!told) {
              throw new Error(`Expected a fresh key, not ${inWords(over)}; ${inWords(full)}`);
            }
          });
        });
      }),
    ),
    law(
      "a changed limit takes over what its older options had used",
      fc.asyncProperty(
        subjects,
        subjects,
        fc.constantFrom<ReplaceMode>("keep", "proportional"),
        fc.nat({ max: 100 }),
        origin,
        async (older, newer, mode, share, now) => {
          await bench.use(async (store, prefix) => {
            const slots = [
              ...slotsOf(store, prefix, [older], ["key"]),
              ...slotsOf(store, prefix, [newer], ["key"]),
            ];
            const [old, slot] = slots;
            if (old === undefined || slot === undefined || old.stored === slot.stored) return;
            await withSlots(store, slots, async () => {
              const used = Math.floor(old.algorithm.capacity * share / 100);
              await runOn(store, old, used, now);
              const replaces = { key: old.stored, algorithm: old.algorithm, mode };
              const look = { ...operationOn(slot, 0), replaces };
              const [first] = await store.run([{ ...look, cost: 1, dry: true }], now);
              // A refusal takes over, too: otherwise the next call would find no time passed.
              const { capacity } = slot.algorithm;
              await store.run([{ ...look, cost: capacity + 1, dry: false }], now);
              const forgotten = await runOn(store, old, 0, now);
              const [second] = await store.run([look], now);
              const left = leftAfter(mode, used, old.algorithm, slot.algorithm);
              if (second?.remaining !== left) {
                throw new Error(`Expected ${left} left after ${mode}, not ${second?.remaining}`);
              }
              if (first?.allowed !== left >= 1) {
                throw new Error(`Expected ${left >= 1} of a dry run`);
              }
              const taken = Math.min(left, 1);
              await store.run([{ ...look, cost: 1, dry: false }], now);
              const after = await runOn(store, slot, 0, now);
              if (after.remaining !== left - taken) {
                throw new Error(
                  `Expected ${left - taken} left after a call, not ${after.remaining}`,
                );
              }
              if (forgotten.remaining !== old.algorithm.capacity) {
                throw new Error(`Expected the older key to be fresh, not ${inWords(forgotten)}`);
              }
            });
          });
        },
      ),
    ),
    law(
      "a bad instant or cost is a RangeError, and changes nothing",
      fc.asyncProperty(subjects, origin, async (subject, now) => {
        await bench.use(async (store, prefix) => {
          const slots = slotsOf(store, prefix, [subject], ["key"]);
          await withSlots(store, slots, async () => {
            const slot = slots[0] as StoreSlot;
            await runOn(store, slot, 1, now);
            const before = inWords(await runOn(store, slot, 0, now));
            for (const bad of [NaN, -1, Infinity, 2 ** 42 + 1]) {
              await expectRangeError(() => runOn(store, slot, 1, bad), `now ${bad}`);
            }
            for (const bad of [NaN, 0.5, Infinity, 2 ** 60]) {
              await expectRangeError(() => runOn(store, slot, bad, now), `cost ${bad}`);
            }
            const after = inWords(await runOn(store, slot, 0, now));
            if (after !== before) throw new Error(`Expected ${before}, not ${after}`);
          });
        });
      }),
    ),
    law(
      "a closed store answers no more",
      fc.asyncProperty(subjects, fc.boolean(), async (subject, dispose) => {
        const store = await make();
        const [slot] = slotsOf(store, nextPrefix(), [subject], ["key"]);
        await (dispose ? store[Symbol.asyncDispose]() : store.close());
        if (slot === undefined) return;
        for (const lane of [false, true]) {
          const error = await errorOf(() => runOn(store, slot, 1, 0, { lane }));
          if (!(error instanceof Error)) throw new Error("Expected a closed store to throw");
        }
      }),
    ),
  ];
}

/** What is used of the new capacity, of so many units used of the old one. */
/** What is left of a fresh key that takes over so much use; each part of an `all` takes its own. */
function leftAfter(mode: ReplaceMode, used: number, old: Algorithm, algorithm: Algorithm): number {
  const [olds, parts] = [old.internals?.parts, algorithm.internals?.parts];
  return olds === undefined || parts === undefined || !haveLikeParts(old, algorithm)
    ? algorithm.capacity - takenOver(mode, used, old.capacity, algorithm.capacity)
    : Math.min(...parts.map((part, place) => leftAfter(mode, used, olds[place]!, part)));
}

function takenOver(mode: ReplaceMode, used: number, old: number, capacity: number): number {
  if (mode === "keep") return Math.min(used, capacity);
  const [units, olds] = [BigInt(used) * BigInt(capacity), BigInt(old)];
  return Number(units / olds + (units % olds > 0n ? 1n : 0n));
}

async function expectRangeError(call: () => Promise<unknown>, what: string): Promise<void> {
  const error = await errorOf(call);
  if (!(error instanceof RangeError)) throw new Error(`Expected a RangeError for ${what}`);
}

async function errorOf(call: () => Promise<unknown>): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}
