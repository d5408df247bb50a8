import fc from "fast-check";
import type { Decision } from "../../../core/decision.ts";
import type { Store } from "../../../core/store.ts";
import { type Law, law } from "../law.ts";
import { linearization, type ObservedCall } from "../linearization.ts";
import { operationOn, runOn, type StoreSlot } from "../stores/store_slots.ts";
import { table } from "../table.ts";
import { slotsOf, withSlots } from "./store_fixture.ts";
import type { StoreCase } from "./store_case.ts";

/** A call of one of several callers at once. */
export interface RacingCall {
  /** Units; `undefined` for the share that a caller of many takes. */
  readonly cost: number;
  /** Milliseconds after the origin. */
  readonly at: number;
  readonly dry: boolean;
}

/** Several callers at once: each unit is given once. */
export function raceLaws({ bench, subjects }: StoreCase): readonly Law[] {
  const origin = fc.constantFrom(0, 1_790_000_123_457);
  return [
    law(
      "N concurrent callers of a limit L are admitted exactly L times",
      fc.asyncProperty(
        subjects,
        origin,
        fc.integer({ min: 1, max: 12 }),
        async (subject, now, shares) => {
          await bench.use(async (store, prefix) => {
            const slots = slotsOf(store, prefix, [subject], ["key"]);
            await withSlots(store, slots, async () => {
              const slot = slots[0] as StoreSlot;
              const cost = Math.ceil(slot.algorithm.capacity / shares);
              const admissible = Math.floor(slot.algorithm.capacity / cost);
              const callers = Array.from(
                { length: admissible + 4 },
                (_, i) => runOn(store, slot, cost, now, { lane: i % 2 === 1 }),
              );
              const admitted = (await Promise.all(callers)).filter(({ allowed }) => allowed).length;
              expectAdmitted(admitted, admissible);
            });
          });
        },
      ),
    ),
    law(
      "calls that overlap are answered as if they came in some order",
      fc.asyncProperty(subjects, origin, races(), async (subject, now, waves) => {
        await bench.use(async (store, prefix) => {
          const slots = slotsOf(store, prefix, [subject], ["key"]);
          await withSlots(store, slots, async () => {
            const history = await observe(store, slots[0] as StoreSlot, now, waves);
            expectOrder(slots[0] as StoreSlot, history);
          });
        });
      }),
    ),
    law(
      "calls on several keys at once are all or nothing, and none waits for another for ever",
      fc.asyncProperty(subjects, subjects, origin, async (one, other, now) => {
        await bench.use(async (store, prefix) => {
          const slots = [
            ...slotsOf(store, prefix, [one], ["one"]),
            ...slotsOf(store, prefix, [other], ["other"]),
          ];
          await withSlots(store, slots, async () => {
            const capacity = Math.min(...slots.map((slot) => slot.algorithm.capacity));
            const cost = Math.ceil(capacity / 5);
            const batches = Array.from({ length: 8 }, (_, i) => {
              const operations = slots.map((slot) => operationOn(slot, cost));
              return store.run(i % 2 === 0 ? operations : operations.reverse(), now);
            });
            const answers = await Promise.all(batches);
            const admitted = answers.filter(allAllowed).length;
            expectAdmitted(admitted, Math.floor(capacity / cost));
            for (const slot of slots) {
              const { remaining } = await runOn(store, slot, 0, now);
              const expected = slot.algorithm.capacity - admitted * cost;
              if (remaining !== expected) {
                throw new Error(`Expected ${expected} left of ${slot.stored}, not ${remaining}`);
              }
            }
          });
        });
      }),
    ),
  ];
}

/** Waves of calls that overlap. */
export function races(): fc.Arbitrary<RacingCall[][]> {
  const call = fc.record({
    cost: fc.oneof(fc.constant(1), fc.integer({ min: -2, max: 4 })),
    at: fc.nat({ max: 30 }),
    dry: fc.nat({ max: 7 }).map((n) => n === 7),
  });
  return fc.array(fc.array(call, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 });
}

/** Makes the calls of each wave at once, and records what their callers saw. */
export async function observe(
  store: Store,
  slot: StoreSlot,
  origin: number,
  waves: readonly (readonly RacingCall[])[],
): Promise<ObservedCall[]> {
  const history: ObservedCall[] = [];
  let tick = 0;
  for (const wave of waves) {
    await Promise.all(wave.map(async ({ cost, at, dry }, i) => {
      const start = tick++;
      const now = origin + at;
      const decision = await runOn(store, slot, cost, now, { dry, lane: i % 2 === 1 });
      history.push({ start, end: tick++, now, cost, dry, decision });
    }));
  }
  return history;
}

/** Requires an order of the calls in which the bare reducer answers the same. */
export function expectOrder({ algorithm }: StoreSlot, history: readonly ObservedCall[]): void {
  if (linearization(algorithm, history) !== undefined) return;
  const rows = history.map((call) => ({
    ...call,
    expected: `in some order, from ${call.start} to ${call.end}`,
  }));
  throw new Error(`No order of these calls explains their answers\n${table(rows)}`);
}

function allAllowed(decisions: readonly Decision[]): boolean {
  return decisions.every((decision) => decision.allowed);
}

function expectAdmitted(admitted: number, expected: number): void {
  if (admitted !== expected) throw new Error(`Expected ${expected} admitted, not ${admitted}`);
}
