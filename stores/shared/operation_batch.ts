/*
 * Several operations at one instant. A try looks the keys up and steps them and, if all calls are
 * admitted, changes all of them at once (`multi_swap.ts`); a key that is in no slot is first put into
 * one, with its fresh state, so that there is a slot to swap.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { StoreFullError } from "../../core/errors.ts";
import { errorMessage } from "../../core/options/checks.ts";
import type { Operation } from "../../core/store.ts";
import { transact, type Write } from "../../core/transact.ts";
import { contentionError, enter, MOST_TRIES, recover } from "./decide.ts";
import type { Fingerprint } from "./fingerprints.ts";
import { capacityOf, MOST_OPERATIONS } from "./layout.ts";
import { writeBlock } from "./states/block_layout.ts";
import { type SlotSwap, swapAll } from "./table/multi_swap.ts";
import type { FoundKey } from "./table/table.ts";
import { layoutFor, type ThreadView } from "./thread_view.ts";
import { announceMore, clearMore } from "./threads/announcements.ts";
import { unlock } from "./threads/thread.ts";

/** A key as a try saw it; slot, word and block are 0 if it is in no slot. */
interface SeenKey extends Fingerprint, Readonly<FoundKey> {
  readonly algorithm: Algorithm;
}

/** Operations, and the keys that the last try of them saw, by their stored keys. */
interface OperationBatch {
  readonly operations: readonly Operation[];
  readonly now: number;
  readonly fingerprints: ReadonlyMap<string, Fingerprint>;
  readonly seen: Map<string, SeenKey>;
}

/**
 * Runs several operations at one instant.
 *
 * @throws {RangeError} If there are more than 24 operations.
 */
export function runBatch(
  view: ThreadView,
  fingerprintOf: (stored: string) => Fingerprint,
  operations: readonly Operation[],
  now: number,
): readonly Decision[] {
  if (operations.length > MOST_OPERATIONS) {
    const rule = `a batch on the shared store must have at most ${MOST_OPERATIONS} keys`;
    throw new RangeError(errorMessage("run operations", rule, operations.length));
  }
  // Hashed before the call begins, as where a hash begins may be asked of the store itself.
  const fingerprints = new Map<string, Fingerprint>();
  for (const { key, replaces } of operations) {
    fingerprints.set(key, fingerprintOf(key));
    if (replaces !== undefined) fingerprints.set(replaces.key, fingerprintOf(replaces.key));
  }
  const batch: OperationBatch = { operations, now, fingerprints, seen: new Map() };
  enter(view);
  try {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      try {
        const decisions = attempt(view, batch);
        if (decisions === undefined) {
          rest(tries);
          continue;
        }
        for (const { key, cost } of operations) {
          if (cost < 0) view.signals.signal(fingerprints.get(key)!.low);
        }
        return decisions;
      } catch (error) {
        recover(view, error, now, () => isUnchanged(view, batch));
      }
    }
  } finally {
    letGo(view, batch);
    unlock(view.thread);
  }
  throw contentionError();
}

/** One try; `undefined` if another thread was faster, or keys were put in. */
function attempt(view: ThreadView, batch: OperationBatch): readonly Decision[] | undefined {
  const { seen, now, operations } = batch;
  letGo(view, batch);
  const stateOf = (stored: string, algorithm: Algorithm) => look(view, batch, stored, algorithm);
  const { decisions, writes } = transact(operations, stateOf, now);
  if (!isUnchanged(view, batch)) return undefined;
  const toWrite = new Map(writes.map((write) => [write.key, write]));
  // To forget a key that is in no slot, nothing need be done.
  for (const [key, { state, algorithm }] of toWrite) {
    if (seen.get(key)?.block === 0 && state === algorithm.initial) toWrite.delete(key);
  }
  if (toWrite.size === 0) {
    return isStillMissing(view, batch) && isUnchanged(view, batch) ? decisions : undefined;
  }
  requireRoom(view, toWrite.size);
  const missing = [...toWrite.keys()].map((key) => seen.get(key)!).filter(({ slot }) => slot === 0);
  for (const key of missing) insertFresh(view, key, now);
  if (missing.length > 0) return undefined;
  return commit(view, batch, toWrite) ? decisions : undefined;
}

/** Looks a key up: its state, `undefined` if it has none. */
function look(
  view: ThreadView,
  { seen, now, fingerprints }: OperationBatch,
  stored: string,
  algorithm: Algorithm,
): unknown {
  const { found, find, scan, thread } = view;
  const { low, high } = fingerprints.get(stored)!;
  const block = find(low, high) || scan(low, high, now);
  if (block === 0) {
    seen.set(stored, { low, high, algorithm, slot: 0, word: 0, block });
    return undefined;
  }
  const { slot, word } = found;
  announceMore(thread, word);
  view.protectedSlots.push(slot);
  seen.set(stored, { low, high, algorithm, slot, word, block });
  const layout = layoutFor(view, algorithm);
  const state = layout.load(block);
  // A key that was put in for this batch holds nothing yet, and may take over from older options.
  return state === layout.initial ? undefined : state;
}

/** Forgets what the last try saw, so that others may drop and use it. */
function letGo({ thread, protectedSlots }: ThreadView, { seen }: OperationBatch): void {
  seen.clear();
  clearMore(thread);
  protectedSlots.length = 0;
}

/** Whether all keys are yet as the last try found them. */
function isUnchanged({ memory: { ints } }: ThreadView, { seen }: OperationBatch): boolean {
  for (const { slot, word } of seen.values()) {
    if (slot !== 0 && Atomics.load(ints, slot) !== word) return false;
  }
  return true;
}

/** Whether the keys that were in no slot are in none now. */
function isStillMissing({ scan }: ThreadView, { seen, now }: OperationBatch): boolean {
  for (const { low, high, slot } of seen.values()) {
    if (slot === 0 && scan(low, high, now) !== 0) return false;
  }
  return true;
}

function requireRoom({ memory }: ThreadView, keys: number): void {
  const capacity = capacityOf(memory);
  if (keys <= capacity) return;
  const rule = `sharedStore must have a capacity of at least the ${keys} keys`;
  throw new StoreFullError(errorMessage("run operations on keys at once", rule, capacity));
}

/** Puts a key into the table in its fresh state. */
function insertFresh(view: ThreadView, { low, high, algorithm }: SeenKey, now: number): void {
  const { memory, nodes, spares, found, protectedSlots, scan, insert } = view;
  if (scan(low, high, now) !== 0) return;
  const layout = layoutFor(view, algorithm);
  // Held for a moment, so that the batch finds it there.
  writeBlock(memory, layout, spares.spare(), low, high, algorithm.initial, now + 1, 0);
  if (insert(high, now)) protectedSlots.push(found.slot);
  else nodes.abandon();
}

/** Changes the keys to be written, provided that all that were seen are as they were. */
function commit(
  view: ThreadView,
  { seen, now }: OperationBatch,
  toWrite: ReadonlyMap<string, Write>,
): boolean {
  const { thread, nodes, spares } = view;
  const taken: number[] = [];
  const swaps: SlotSwap[] = [];
  try {
    for (const [stored, key] of seen) {
      const { slot, word, block } = key;
      if (slot === 0) continue;
      const write = toWrite.get(stored);
      if (write !== undefined) {
        taken.push(spares.take());
        writeNext(view, key, write, taken.at(-1)!, now);
      }
      swaps.push({ slot, before: word, block: write === undefined ? block : taken.at(-1)! });
    }
  } catch (error) {
    for (const block of taken) spares.add(block);
    throw error;
  }
  const replaced = [...toWrite.keys()].map((stored) => seen.get(stored)!.block);
  thread.isChanging = true;
  const isDone = swapAll(thread, swaps);
  for (const block of isDone ? replaced : taken) spares.add(block);
  if (isDone) nodes.commit();
  thread.isChanging = false;
  if (!isDone) nodes.abandon();
  return isDone;
}

/** Writes what is to come of a key into a block. */
function writeNext(
  view: ThreadView,
  { low, high, algorithm, block: old }: SeenKey,
  { state, resetAfter }: Write,
  block: number,
  now: number,
): void {
  const layout = layoutFor(view, algorithm);
  const freshAt = state === algorithm.initial ? 0 : now + resetAfter;
  writeBlock(view.memory, layout, block, low, high, state, freshAt, old);
}

/** Lets others go first: longer, and less alike, the more races were lost. */
function rest(lost: number): void {
  const turns = Math.random() * Math.min(2 ** lost, 10_000);
  for (let turn = 0; turn < turns; turn++);
}
