/*
 * Several operations at one instant. A try looks up the keys and steps their states. If all
 * operations are admitted, it changes all keys at once (`multi_swap.ts`). A key that is in no slot
 * is inserted first, with its fresh state, so that it has a slot to swap.
 */

import { takeOver } from "../../core/carry_over.ts";
import type { Decision } from "../../core/decision.ts";
import { StoreFullError } from "../../core/errors.ts";
import { errorMessage } from "../../core/options/checks.ts";
import { keptFor } from "../../core/kept_for.ts";
import { requireWellFormed } from "../../core/options/well_formed.ts";
import type { Operation } from "../../core/store.ts";
import { transact } from "../../core/transact.ts";
import { splitReducer } from "../../core/algorithms/split_reducer.ts";
import { contentionError, enter, MAX_TRIES, recover } from "./decide.ts";
import { type Fingerprint, fingerprintFrom } from "./fingerprints.ts";
import { capacityOf, MAX_OPERATIONS, type Memory } from "./layout.ts";
import type { SharedBoundVerb, SharedKeys } from "./shared_family.ts";
import { writeBlock } from "./states/block_layout.ts";
import { freshAtWith, shareScaleOf } from "./states/fresh_at.ts";
import { type SlotSwap, swapAll } from "./table/multi_swap.ts";
import type { FoundKey } from "./table/table.ts";
import { layoutFor, type ThreadView } from "./thread_view.ts";
import { announceMore, clearMore } from "./threads/announcements.ts";
import { restAfterLoss } from "./threads/rest_after_loss.ts";
import { unlock } from "./threads/thread.ts";

/** A key that a batch reads or writes. A key has one target, however often it occurs. */
interface Target extends Fingerprint {
  readonly keys: SharedKeys;
}

/** An operation, its key, and the key under older options. */
interface Placed {
  readonly operation: Operation & { readonly bound: SharedBoundVerb<unknown, unknown> };
  readonly target: Target;
  readonly older: readonly Target[];
}

/** A key as a try saw it; slot, word and block are 0 if it is in no slot. */
type SeenKey = Readonly<FoundKey> & {
  /** Its state; `undefined` if it has none. */
  readonly state: unknown;
};

/** A state to keep, and the decision that led to it. Without a decision the key is forgotten. */
interface Write {
  readonly state: unknown;
  readonly decision: Decision | undefined;
}

/**
 * Runs several operations at one instant.
 *
 * @throws {RangeError} If there are more than 24 operations.
 */
export function runBatch(
  view: ThreadView,
  operations: readonly Operation[],
  now: number,
): readonly unknown[] {
  if (operations.length > MAX_OPERATIONS) {
    const rule = `a batch on the shared store must have at most ${MAX_OPERATIONS} keys`;
    throw new RangeError(errorMessage("run operations", rule, operations.length));
  }
  // Hash the keys before the call begins, because `startOf` may itself be a call of the store.
  const placed = placesOf(operations);
  const tries = batchOf(view, operations, placed, now);
  enter(view);
  try {
    for (let lost = 0; lost < MAX_TRIES; lost++) {
      try {
        const answers = tries.attempt();
        if (answers === undefined) {
          restAfterLoss(view.thread);
          continue;
        }
        for (const { operation: { bound }, target } of placed) {
          if (bound.verb.kind === "free") view.signals.signal(target.low);
        }
        return answers;
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

function placesOf(operations: readonly Operation[]): readonly Placed[] {
  const targets: Target[] = [];

  /** The target of a key, which all operations on the key share. */
  function targetOf(keys: SharedKeys, key: string): Target {
    const { low, high } = fingerprintFrom(keys.start(), key);
    const known = targets.find((each) => each.low === low && each.high === high);
    if (known !== undefined) return known;
    const made = { low, high, keys };
    targets.push(made);
    return made;
  }

  return operations.map((each) => {
    const operation = each as Placed["operation"];
    const { bound: { keys, older }, key } = operation;
    requireWellFormed(key);
    return {
      operation,
      target: targetOf(keys, key),
      older: older.map((older) => targetOf(older, key)),
    };
  });
}

/** The tries of a batch. Each begins from the keys that the last try saw. */
function batchOf(
  view: ThreadView,
  operations: readonly Operation[],
  placed: readonly Placed[],
  now: number,
) {
  const { memory, thread, nodes, spares, found, protectedSlots, find, scan } = view;
  const seen = new Map<Target, SeenKey>();
  /** States that keys take over from older options. They are written even if the batch is refused. */
  const copies = new Map<Target, Write>();

  /** One try; `undefined` if another thread was faster, or if the try had to insert keys. */
  function attempt(): readonly unknown[] | undefined {
    letGo();
    const states = placed.map(load);
    const { answers, nexts } = transact(operations, states, now);
    if (!isUnchanged()) return undefined;
    const writes = writesOf(answers, states, nexts);
    if (writes.size === 0) return isStillMissing() && isUnchanged() ? answers : undefined;
    requireRoom(memory, writes.size);
    let isComplete = true;
    for (const target of writes.keys()) {
      if (seen.get(target)!.slot !== 0) continue;
      insertFresh(target);
      isComplete = false;
    }
    return isComplete && commit(writes) ? answers : undefined;
  }

  /** The state of an operation's key, after it has taken over from older options. */
  function load({ operation: { bound }, target, older }: Placed): unknown {
    const { family: { spec }, verb } = bound;
    const held = look(target);
    if (held !== undefined) return held;
    const state = takeOver(spec, (index) => look(older[index]!), now);
    if (verb.kind !== "look" && state !== spec.algorithm.initial) {
      const decision = splitReducer(spec.algorithm).decide(state, state, now, 0);
      copies.set(target, { state, decision });
    }
    return state;
  }

  /** Looks a key up: its state, `undefined` if it has none. */
  function look(target: Target): unknown {
    const known = seen.get(target);
    if (known !== undefined) return known.state;
    const { low, high, keys: { algorithm } } = target;
    const block = find(low, high) || scan(low, high, now);
    if (block === 0) {
      seen.set(target, { slot: 0, word: 0, block, state: undefined });
      return undefined;
    }
    const { slot, word } = found;
    announceMore(thread, word);
    protectedSlots.push(slot);
    const layout = layoutFor(view, algorithm);
    const loaded = layout.load(block);
    // A key that was inserted for this batch has a fresh state, and may take over from older
    // options.
    const state = loaded === layout.initial ? undefined : loaded;
    seen.set(target, { slot, word, block, state });
    return state;
  }

  /** The writes of a batch. Forgetting a key that is in no slot needs no write. */
  function writesOf(
    answers: readonly unknown[],
    states: readonly unknown[],
    nexts: readonly unknown[],
  ): ReadonlyMap<Target, Write> {
    const writes = new Map(copies);
    placed.forEach(({ operation: { bound: { verb } }, target }, index) => {
      const state = nexts[index];
      if (state === states[index]) return;
      writes.set(target, { state, decision: verb.decisionOf(answers[index]) });
    });
    for (const [target, { state }] of writes) {
      const isFresh = state === target.keys.algorithm.initial;
      if (isFresh && seen.get(target)!.slot === 0) writes.delete(target);
    }
    return writes;
  }

  /** Forgets what the last try saw, so that keys may be dropped and blocks reused. */
  function letGo(): void {
    seen.clear();
    copies.clear();
    clearMore(thread);
    protectedSlots.length = 0;
  }

  /** Whether all keys are still as the last try found them. */
  function isUnchanged(): boolean {
    for (const { slot, word } of seen.values()) {
      if (slot !== 0 && Atomics.load(memory.ints, slot) !== word) return false;
    }
    return true;
  }

  /** Whether the keys that were not in the table are still not there. */
  function isStillMissing(): boolean {
    return [...seen].every(([{ low, high }, { slot }]) => slot !== 0 || scan(low, high, now) === 0);
  }

  /** Inserts a key with its fresh state. */
  function insertFresh({ low, high, keys: { algorithm } }: Target): void {
    if (scan(low, high, now) !== 0) return;
    const layout = layoutFor(view, algorithm);
    // The key counts as fresh only a millisecond later, so no thread drops it before the next try.
    writeBlock(memory, layout, spares.spare(), low, high, algorithm.initial, now + 1, 0);
    if (view.insert(high, now)) protectedSlots.push(found.slot);
    else nodes.abandon();
  }

  /** Changes the keys to be written, unless one of the keys that the try saw has changed since. */
  function commit(writes: ReadonlyMap<Target, Write>): boolean {
    const taken: number[] = [];
    const replaced: number[] = [];
    const swaps: SlotSwap[] = [];
    try {
      for (const [target, { slot, word: before, block: old }] of seen) {
        if (slot === 0) continue;
        let block = old;
        const write = writes.get(target);
        if (write !== undefined) {
          block = spares.spare();
          spares.spent();
          taken.push(block);
          replaced.push(old);
          writeState(target, write, block, old);
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

  function writeState(
    { low, high, keys: { algorithm } }: Target,
    { state, decision }: Write,
    block: number,
    old: number,
  ): void {
    const freshAt = state === algorithm.initial || decision === undefined ? 0 : freshAtWith(
      now + keptFor(algorithm, state, now, decision),
      decision,
      shareScaleOf(algorithm),
    );
    writeBlock(memory, layoutFor(view, algorithm), block, low, high, state, freshAt, old);
  }

  return { attempt, letGo, isUnchanged };
}

function requireRoom(memory: Memory, keys: number): void {
  const capacity = capacityOf(memory);
  if (keys <= capacity) return;
  const rule = `sharedStore must have a capacity of at least the ${keys} keys`;
  throw new StoreFullError(errorMessage("run operations on keys at once", rule, capacity));
}
