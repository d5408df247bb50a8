/*
 * Several operations at one instant. A try looks the keys up and steps them and, if all calls are
 * admitted, changes all of them at once (`multi_swap.ts`); a key that is in no slot is first put into
 * one, with its fresh state, so that there is a slot to swap.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { StoreFullError } from "../../core/errors.ts";
import { errorMessage } from "../../core/options/checks.ts";
import type { Operation } from "../../core/old/old_store.ts";
import { transact, type Write } from "../../core/old/old_transact.ts";
import { contentionError, enter, MAX_TRIES, recover } from "./decide.ts";
import type { Fingerprint } from "./fingerprints.ts";
import { capacityOf, MAX_OPERATIONS, type Memory } from "./layout.ts";
import { writeBlock } from "./states/block_layout.ts";
import { freshAtWith, sharesOf } from "./states/fresh_at.ts";
import { type SlotSwap, swapAll } from "./table/multi_swap.ts";
import type { FoundKey } from "./table/table.ts";
import { layoutFor, type ThreadView } from "./thread_view.ts";
import { announceMore, clearMore } from "./threads/announcements.ts";
import { unlock } from "./threads/thread.ts";

/** A key as a try saw it; slot, word and block are 0 if it is in no slot. */
interface SeenKey extends Fingerprint, Readonly<FoundKey> {
  readonly algorithm: Algorithm;
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
  if (operations.length > MAX_OPERATIONS) {
    const rule = `a batch on the shared store must have at most ${MAX_OPERATIONS} keys`;
    throw new RangeError(errorMessage("run operations", rule, operations.length));
  }
  // Hashed before the call begins, as where a hash begins may be asked of the store itself.
  const fingerprints = new Map<string, Fingerprint>();
  for (const { key, replaces } of operations) {
    fingerprints.set(key, fingerprintOf(key));
    if (replaces !== undefined) fingerprints.set(replaces.key, fingerprintOf(replaces.key));
  }
  const tries = batchOf(view, fingerprints, operations, now);
  enter(view);
  try {
    for (let lost = 0; lost < MAX_TRIES; lost++) {
      try {
        const decisions = tries.attempt();
        if (decisions === undefined) {
          rest(lost);
          continue;
        }
        for (const { key, cost } of operations) {
          if (cost < 0) view.signals.signal(fingerprints.get(key)!.low);
        }
        return decisions;
      } catch (error) {
        recover(view, error, now, tries.isUnchanged);
      }
    }
  } finally {
    tries.letGo();
    unlock(view.thread);
  }
  throw contentionError();
}

/** The tries of a batch, closed over what the last one saw. */
function batchOf(
  view: ThreadView,
  fingerprints: ReadonlyMap<string, Fingerprint>,
  operations: readonly Operation[],
  now: number,
) {
  const { memory, thread, nodes, spares, found, protectedSlots, find, scan } = view;
  /** By their stored keys. */
  const seen = new Map<string, SeenKey>();

  /** One try; `undefined` if another thread was faster, or keys were put in. */
  function attempt(): readonly Decision[] | undefined {
    letGo();
    const { decisions, writes } = transact(operations, look, now);
    if (!isUnchanged()) return undefined;
    const toWrite = new Map(writes.map((write) => [write.key, write]));
    // To forget a key that is in no slot, nothing need be done.
    for (const [key, { state, algorithm }] of toWrite) {
      if (seen.get(key)?.block === 0 && state === algorithm.initial) toWrite.delete(key);
    }
    if (toWrite.size === 0) return isStillMissing() && isUnchanged() ? decisions : undefined;
    requireRoom(memory, toWrite.size);
    let isComplete = true;
    for (const stored of toWrite.keys()) {
      const key = seen.get(stored)!;
      if (key.slot !== 0) continue;
      insertFresh(key);
      isComplete = false;
    }
    const decisionOf = (stored: string) =>
      decisions[operations.findIndex(({ key }) => key === stored)];
    return isComplete && commit(toWrite, decisionOf) ? decisions : undefined;
  }

  /** Looks a key up: its state, `undefined` if it has none. */
  function look(stored: string, algorithm: Algorithm): unknown {
    const { low, high } = fingerprints.get(stored)!;
    const block = find(low, high) || scan(low, high, now);
    const { slot, word } = block === 0 ? { slot: 0, word: 0 } : found;
    seen.set(stored, { low, high, algorithm, slot, word, block });
    if (block === 0) return undefined;
    announceMore(thread, word);
    protectedSlots.push(slot);
    const layout = layoutFor(view, algorithm);
    const state = layout.load(block);
    // A key that was put in for this batch holds nothing yet, and may take over from older options.
    return state === layout.initial ? undefined : state;
  }

  /** Forgets what the last try saw, so that others may drop and use it. */
  function letGo(): void {
    seen.clear();
    clearMore(thread);
    protectedSlots.length = 0;
  }

  /** Whether all keys are yet as the last try found them. */
  function isUnchanged(): boolean {
    for (const { slot, word } of seen.values()) {
      if (slot !== 0 && Atomics.load(memory.ints, slot) !== word) return false;
    }
    return true;
  }

  /** Whether the keys that were in no slot are in none now. */
  function isStillMissing(): boolean {
    return [...seen.values()].every(({ low, high, slot }) =>
      slot !== 0 || scan(low, high, now) === 0
    );
  }

  /** Puts a key into the table in its fresh state. */
  function insertFresh({ low, high, algorithm }: SeenKey): void {
    if (scan(low, high, now) !== 0) return;
    const layout = layoutFor(view, algorithm);
    // Held for a moment, so that the batch finds it there.
    writeBlock(memory, layout, spares.spare(), low, high, algorithm.initial, now + 1, 0);
    if (view.insert(high, now)) protectedSlots.push(found.slot);
    else nodes.abandon();
  }

  /** Changes the keys to be written, provided that all that were seen are as they were. */
  function commit(
    toWrite: ReadonlyMap<string, Write>,
    decisionOf: (stored: string) => Decision | undefined,
  ): boolean {
    const taken: number[] = [];
    const replaced: number[] = [];
    const swaps: SlotSwap[] = [];
    try {
      for (const [stored, { low, high, algorithm, slot, word: before, block: old }] of seen) {
        if (slot === 0) continue;
        let block = old;
        const write = toWrite.get(stored);
        if (write !== undefined) {
          const { state, resetAfter } = write;
          block = spares.spare();
          spares.spent();
          taken.push(block);
          replaced.push(old);
          const decision = decisionOf(stored);
          const freshAt = state === algorithm.initial || decision === undefined
            ? 0
            : freshAtWith(now + resetAfter, decision, sharesOf(algorithm));
          writeBlock(memory, layoutFor(view, algorithm), block, low, high, state, freshAt, old);
        }
        swaps.push({ slot, before, block });
      }
    } catch (error) {
      for (const block of taken) spares.add(block);
      throw error;
    }
    thread.isChanging = true;
    const isDone = swapAll(thread, swaps);
    for (const block of isDone ? replaced : taken) spares.add(block);
    if (isDone) nodes.commit();
    thread.isChanging = false;
    if (!isDone) nodes.abandon();
    return isDone;
  }

  return { attempt, letGo, isUnchanged };
}

function requireRoom(memory: Memory, keys: number): void {
  const capacity = capacityOf(memory);
  if (keys <= capacity) return;
  const rule = `sharedStore must have a capacity of at least the ${keys} keys`;
  throw new StoreFullError(errorMessage("run operations on keys at once", rule, capacity));
}

/** Lets others go first: longer, and less alike, the more races were lost. */
function rest(lost: number): void {
  const turns = Math.random() * Math.min(2 ** lost, 10_000);
  for (let turn = 0; turn < turns; turn++);
}
