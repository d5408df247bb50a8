import type { Algorithm } from "../../core/algorithm.ts";
import { errorMessage } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import type { Operation } from "../../core/store.ts";
import { StoreFullError } from "../../core/errors.ts";
import { transact, type Write } from "../../core/transact.ts";
import { type SlotSwap, swapAll } from "./table/multi_swap.ts";
import type { StateLayout } from "./states/state_layout.ts";
import { type Memory, MOST_OPERATIONS } from "./layout.ts";
import type { Nodes } from "./memory/nodes.ts";
import type { Table } from "./table/table.ts";
import type { ThreadSlot } from "./threads/thread.ts";

/** What a batch needs of the store that it runs on. */
export interface BatchStore {
  readonly memory: Memory;
  readonly self: ThreadSlot;
  readonly nodes: Nodes;
  readonly table: Table;
  locate(stored: string): { readonly low: number; readonly high: number };
  formFor(algorithm: Algorithm): StateLayout;
  write(
    form: StateLayout,
    low: number,
    high: number,
    state: unknown,
    freshAt: number,
    old: number,
    block?: number,
  ): void;
}

/** A key as the batch saw it. */
interface SeenKey {
  readonly low: number;
  readonly high: number;
  readonly algorithm: Algorithm;
  /** Slot, word and block; 0 each if the key is in no slot. */
  readonly slot: number;
  readonly word: number;
  readonly block: number;
}

/** Several operations at one instant. */
export interface OperationBatch {
  /** The decisions; `undefined` if another thread was faster, or keys were put in. */
  attempt(): readonly Decision[] | undefined;
  /** Whether all keys are yet as the last try found them. */
  isUnchanged(): boolean;
  /** Lets go of the keys. */
  end(): void;
}

/**
 * Makes ready to run several operations at one instant. A try looks the keys up and steps them and,
 * if all calls are admitted, changes all of them at once; a key that is in no slot is first put
 * into one, with its fresh state, so that the batch has a slot to swap.
 *
 * @throws {RangeError} If there are more than 24 operations.
 */
export function operationBatch(
  store: BatchStore,
  operations: readonly Operation[],
  now: number,
): OperationBatch {
  const { memory: { ints, capacity }, table } = store;
  if (operations.length > MOST_OPERATIONS) {
    const rule = `a batch on the shared store must have at most ${MOST_OPERATIONS} keys`;
    throw new RangeError(errorMessage("run operations", rule, operations.length));
  }
  const seen = new Map<string, SeenKey>();

  function end(): void {
    seen.clear();
    store.self.thread.clearMore();
    table.protectOne();
  }

  function look(stored: string, algorithm: Algorithm): SeenKey {
    const { low, high } = store.locate(stored);
    const block = table.find(low, high) || table.scan(low, high, now);
    if (block === 0) return { low, high, algorithm, slot: 0, word: 0, block };
    const { slot, word } = table.found;
    store.self.thread.announceMore(word);
    table.protect();
    return { low, high, algorithm, slot, word, block };
  }

  function stateOf(stored: string, algorithm: Algorithm): unknown {
    const place = look(stored, algorithm);
    seen.set(stored, place);
    if (place.block === 0) return undefined;
    const form = store.formFor(algorithm);
    const state = form.load(place.block);
    // A key that was put in for this batch holds nothing yet, and may take over from older options.
    return state === form.initial ? undefined : state;
  }

  function isStill(): boolean {
    for (const { slot, word } of seen.values()) {
      if (slot !== 0 && Atomics.load(ints, slot) !== word) return false;
    }
    return true;
  }

  /** Whether the keys that were in no slot are in none now. */
  function isStillMissing(): boolean {
    for (const { low, high, slot } of seen.values()) {
      if (slot === 0 && table.scan(low, high, now) !== 0) return false;
    }
    return true;
  }

  function attempt(): readonly Decision[] | undefined {
    end();
    const { decisions, writes } = transact(operations, stateOf, now);
    if (!isStill()) return undefined;
    const toWrite = new Map(writes.map((write) => [write.key, write]));
    // To forget a key that is in no slot, nothing need be done.
    for (const [key, { state, algorithm }] of toWrite) {
      if (seen.get(key)?.block === 0 && state === algorithm.initial) toWrite.delete(key);
    }
    if (toWrite.size === 0) return isStillMissing() && isStill() ? decisions : undefined;
    if (toWrite.size > capacity) {
      const rule = `sharedStore must have a capacity of at least the ${toWrite.size} keys`;
      throw new StoreFullError(errorMessage("run operations on keys at once", rule, capacity));
    }
    const missing = [...toWrite.keys()].map((key) => seen.get(key)!)
      .filter(({ slot }) => slot === 0);
    for (const place of missing) insertFresh(store, place, now);
    if (missing.length > 0) return undefined;
    return commit(store, seen, toWrite, now) ? decisions : undefined;
  }

  return { attempt, isUnchanged: isStill, end };
}

/** Puts a key into the table in its fresh state. */
function insertFresh(
  { table, nodes, formFor, write }: BatchStore,
  { low, high, algorithm }: SeenKey,
  now: number,
): void {
  if (table.scan(low, high, now) !== 0) return;
  // Held for a moment, so that the batch finds it there.
  write(formFor(algorithm), low, high, algorithm.initial, now + 1, 0);
  if (table.insert(high, now)) table.protect();
  else nodes.abandon();
}

/** Changes the keys to be written, provided that all that were seen are as they were. */
function commit(
  { memory, self, nodes, table, formFor, write }: BatchStore,
  seen: ReadonlyMap<string, SeenKey>,
  toWrite: ReadonlyMap<string, Write>,
  now: number,
): boolean {
  const { thread } = self;
  const taken: number[] = [];
  const replaced: number[] = [];
  const changes: SlotSwap[] = [];
  try {
    for (const [key, { slot, word, block, low, high, algorithm }] of seen) {
      if (slot === 0) continue;
      const written = toWrite.get(key);
      if (written === undefined) {
        changes.push({ slot, before: word, block });
        continue;
      }
      const { state, resetAfter } = written;
      const spare = thread.take();
      taken.push(spare);
      replaced.push(block);
      const freshAt = state === algorithm.initial ? 0 : now + resetAfter;
      write(formFor(algorithm), low, high, state, freshAt, block, spare);
      changes.push({ slot, before: word, block: spare });
    }
  } catch (error) {
    for (const block of taken) thread.add(block);
    throw error;
  }
  self.isChanging = true;
  const isDone = swapAll(memory, thread, changes, table.raised);
  for (const block of isDone ? replaced : taken) thread.add(block);
  if (isDone) nodes.commit();
  self.isChanging = false;
  if (!isDone) nodes.abandon();
  return isDone;
}
