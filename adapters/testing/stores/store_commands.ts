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
import { operationOn, runOn, type TestedKey } from "./tested_key.ts";

/** Facts about the store that commands run on. */
export interface StoreModel {
  /** The keys that they use. */
  readonly keys: readonly TestedKey[];
  /** The answers that the store should give. */
  readonly reference: ReferenceStore;
  /** The instant of the last command. */
  now: number;
  /** The last answer for each key. */
  readonly last: Map<TestedKey, Decision>;
}

/** A command on a store, compared with the model. */
export type StoreCommand = fc.AsyncCommand<StoreModel, Store>;

/**
 * The model of a store that holds nothing under the given keys.
 *
 * @param keys The keys to use.
 * @param now The instant to begin at.
 */
export function storeModel(keys: readonly TestedKey[], now: number): StoreModel {
  return { keys, reference: referenceStore(), now, last: new Map() };
}

/**
 * Random commands on a store, for `fc.asyncModelRun`: calls on one key, by `run` and by the store's
 * prepared call; looks that change nothing; units given back; calls on several keys at once; keys
 * deleted.
 * Instants and costs follow what the store answered, as in a schedule.
 *
 * @param options The range of commands to draw from.
 *
 * @example
 * ```ts
 * import { gcra, memoryStore } from "tidegate";
 * import { storeCommands, storeModel, testedKey } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * await fc.assert(fc.asyncProperty(storeCommands(), async (commands) => {
 *   const real = memoryStore();
 *   const algorithm = gcra({ limit: 3, period: 20, burst: 3 });
 *   const keys = ["a", "b"].map((key) => testedKey(real, "test", { algorithm }, key));
 *   await fc.asyncModelRun(() => ({ model: storeModel(keys, 0), real }), commands);
 * }), { numRuns: 10 });
 * ```
 */
export function storeCommands(
  options: SchedulesOptions = {},
): fc.Arbitrary<Iterable<StoreCommand>> {
  const move = schedules({ ...options, maxLength: 1 }).map(({ moves }) => moves[0] as Move);
  const place = fc.nat({ max: 11 });
  const several = fc.array(fc.record({ place, move, dry: seldom() }), {
    minLength: 2,
    maxLength: 3,
  });
  const call = fc.tuple(place, move, seldom(), fc.boolean());
  const commands: fc.Arbitrary<StoreCommand>[] = [
    call.map((drawn) => callCommand(...drawn)),
    call.map((drawn) => callCommand(...drawn)),
    call.map((drawn) => callCommand(...drawn)),
    fc.tuple(several, move).map(([calls, { wait }]) => batchCommand(calls, wait)),
    place.map(deleteCommand),
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
      const tested = keyOf(model, index);
      const last = model.last.get(tested);
      const now = moved(model, tested, move.wait, last);
      const cost = costOf(move.cost, tested.guide, last);
      const decision = await runOn(store, tested, cost, now, { dry, lane, charge });
      const operation = operationOn(tested, cost, { dry, charge });
      model.reference.expect([referenceCall(operation)], now, [decision]);
      model.last.set(tested, decision);
    },
    toString: () => `${lane ? "lane" : "run"}(${index}, ${fc.stringify(move)}, dry: ${dry})`,
  };
}

interface BatchCall {
  readonly place: number;
  readonly move: Move;
  readonly dry: boolean;
}

function batchCommand(calls: readonly BatchCall[], wait: Wait): StoreCommand {
  return {
    check: () => true,
    async run(model, store) {
      const byKey = new Map(calls.map((call) => [keyOf(model, call.place), call]));
      const keys = [...byKey.keys()];
      const now = moved(model, keys[0] as TestedKey, wait, model.last.get(keys[0] as TestedKey));
      const operations = [...byKey].map(([tested, { move: { cost, charge }, dry }]) =>
        operationOn(tested, costOf(cost, tested.guide, model.last.get(tested)), { dry, charge })
      );
      const decisions = await store.run(operations, now) as readonly Decision[];
      model.reference.expect(operations.map(referenceCall), now, decisions);
      keys.forEach((tested, i) => model.last.set(tested, decisions[i] as Decision));
    },
    toString: () => `run(${fc.stringify(calls)}, ${fc.stringify(wait)})`,
  };
}

function deleteCommand(index: number): StoreCommand {
  return {
    check: () => true,
    async run(model) {
      const tested = keyOf(model, index);
      await tested.family.delete(tested.key);
      model.reference.delete(tested.stored);
    },
    toString: () => `delete(${index})`,
  };
}

function keyOf({ keys }: StoreModel, index: number): TestedKey {
  return keys[index % keys.length] as TestedKey;
}

function moved(model: StoreModel, { guide }: TestedKey, wait: Wait, last?: Decision): number {
  const now = model.now + waitOf(wait, guide, model.now, last);
  model.now = Math.min(Math.max(0, now), LAST_INSTANT);
  return model.now;
}
