/*
 * Random commands on a store for fast-check's model-based runner, each compared with the reference.
 * They mix single calls, batches and deletions, since faults show where these meet.
 */

import fc from "fast-check";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Store } from "../../../core/store.ts";
import { referenceCall, type ReferenceStore, referenceStore } from "./reference_store.ts";
import {
  costOf,
  type Move,
  schedules,
  type SchedulesOptions,
  type Wait,
  waitOf,
} from "../arbitraries/schedules.ts";
import { operationOn, runOn, type StoreSlot } from "./store_slots.ts";

/** Facts about the store that commands run on. */
export interface StoreModel {
  /** The keys that they use. */
  readonly slots: readonly StoreSlot[];
  /** The answers that the store should give. */
  readonly reference: ReferenceStore;
  /** The instant of the last command. */
  now: number;
  /** The last answer for each slot. */
  readonly last: Map<StoreSlot, Decision>;
}

/** A command on a store, compared with the model. */
export type StoreCommand = fc.AsyncCommand<StoreModel, Store>;

/**
 * The model of a store that holds nothing under the given keys.
 *
 * @param slots The keys to use.
 * @param now The instant to begin at.
 */
export function storeModel(slots: readonly StoreSlot[], now: number): StoreModel {
  return { slots, reference: referenceStore(), now, last: new Map() };
}

/**
 * Random commands on a store, for `fc.asyncModelRun`: calls on one key, by `run` and by the store's
 * prepared call; looks that change nothing; units given back; calls on several keys at once; keys
 * deleted.
 * Instants and costs follow what the store answered, as in a schedule.
 *
 * @param options What to draw from.
 *
 * @example
 * ```ts
 * import { gcra, memoryStore } from "tidegate";
 * import { storeCommands, storeModel, storeSlot } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * await fc.assert(fc.asyncProperty(storeCommands(), async (commands) => {
 *   const real = memoryStore();
 *   const algorithm = gcra({ limit: 3, period: 20 });
 *   const slots = ["a", "b"].map((key) => storeSlot(real, "test", { algorithm }, key));
 *   await fc.asyncModelRun(() => ({ model: storeModel(slots, 0), real }), commands);
 * }), { numRuns: 10 });
 * ```
 */
export function storeCommands(
  options: SchedulesOptions = {},
): fc.Arbitrary<Iterable<StoreCommand>> {
  const move = schedules({ ...options, maxLength: 1 }).map(({ moves }) => moves[0] as Move);
  const slot = fc.nat({ max: 11 });
  const several = fc.array(fc.record({ slot, move, dry: seldom() }), {
    minLength: 2,
    maxLength: 3,
  });
  const call = fc.tuple(slot, move, seldom(), fc.boolean());
  const commands: fc.Arbitrary<StoreCommand>[] = [
    call.map((drawn) => callCommand(...drawn)),
    call.map((drawn) => callCommand(...drawn)),
    call.map((drawn) => callCommand(...drawn)),
    fc.tuple(several, move).map(([calls, { wait }]) => batchCommand(calls, wait)),
    slot.map(deleteCommand),
  ];
  return fc.commands(commands, { maxCommands: options.maxLength ?? 24, size: "max" });
}

function seldom(): fc.Arbitrary<boolean> {
  return fc.nat({ max: 5 }).map((n) => n === 5);
}

function callCommand(index: number, move: Move, dry: boolean, lane: boolean): StoreCommand {
  const { charge } = move;
  return {
    check: () => true,
    async run(model, store) {
      const slot = slotOf(model, index);
      const last = model.last.get(slot);
      const now = moved(model, slot, move.wait, last);
      const cost = costOf(move.cost, slot.guide, last);
      const decision = await runOn(store, slot, cost, now, { dry, lane, charge });
      const operation = operationOn(slot, cost, { dry, charge });
      model.reference.expect([referenceCall(operation)], now, [decision]);
      model.last.set(slot, decision);
    },
    toString: () => `${lane ? "lane" : "run"}(${index}, ${fc.stringify(move)}, dry: ${dry})`,
  };
}

interface BatchCall {
  readonly slot: number;
  readonly move: Move;
  readonly dry: boolean;
}

function batchCommand(calls: readonly BatchCall[], wait: Wait): StoreCommand {
  return {
    check: () => true,
    async run(model, store) {
      const bySlot = new Map(calls.map((call) => [slotOf(model, call.slot), call]));
      const slots = [...bySlot.keys()];
      const now = moved(model, slots[0] as StoreSlot, wait, model.last.get(slots[0] as StoreSlot));
      const operations = [...bySlot].map(([slot, { move: { cost, charge }, dry }]) =>
        operationOn(slot, costOf(cost, slot.guide, model.last.get(slot)), { dry, charge })
      );
      const decisions = await store.run(operations, now) as readonly Decision[];
      model.reference.expect(operations.map(referenceCall), now, decisions);
      slots.forEach((slot, i) => model.last.set(slot, decisions[i] as Decision));
    },
    toString: () => `run(${fc.stringify(calls)}, ${fc.stringify(wait)})`,
  };
}

function deleteCommand(index: number): StoreCommand {
  return {
    check: () => true,
    async run(model) {
      const slot = slotOf(model, index);
      await slot.family.delete(slot.key);
      model.reference.delete(slot.stored);
    },
    toString: () => `delete(${index})`,
  };
}

function slotOf({ slots }: StoreModel, index: number): StoreSlot {
  return slots[index % slots.length] as StoreSlot;
}

function moved(model: StoreModel, { guide }: StoreSlot, wait: Wait, last?: Decision): number {
  const now = model.now + waitOf(wait, guide, model.now, last);
  model.now = Math.min(Math.max(0, now), LAST_INSTANT);
  return model.now;
}
