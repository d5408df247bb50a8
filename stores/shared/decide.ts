/*
 * A decision on one key: find the key, step its state, write the next one beside it and swap that in;
 * if another thread was faster, all once more.
 */

import type { Algorithm, SplitReducer } from "../../core/algorithm.ts";
import { splitReducer } from "../../core/algorithms/split_reducer.ts";
import type { Decision } from "../../core/decision.ts";
import { ContentionError, StoreUnavailableError } from "../../core/errors.ts";
import type { PreparedCall } from "../../core/old/old_store.ts";
import { BLOCK, field, header, RING_SIZE } from "./layout.ts";
import { OUT_OF_NODES } from "./allocator/nodes.ts";
import { noteHolder, type StateLayout, writeBlock } from "./states/block_layout.ts";
import { freshAtWith, type Shares, sharesOf } from "./states/fresh_at.ts";
import { TORN } from "./states/stored_timeline.ts";
import { type HashStart, hashText } from "./table/hash.ts";
import { isUnchanged, slotByTag } from "./table/table.ts";
import { layoutFor, type ThreadView } from "./thread_view.ts";
import { clearMore } from "./threads/announcements.ts";
import { counter, isDetached, lockOwnRecord, type Thread, unlock } from "./threads/thread.ts";

/** Lost races after which a call fails. */
export const MAX_TRIES = 1_000_000;

/** An algorithm as a store of one thread steps it. */
interface Stepper {
  readonly split: SplitReducer<unknown>;
  readonly layout: StateLayout;
  readonly initial: unknown;
  readonly shares: Shares;
}

/** How a view steps an algorithm. */
export function stepperOf(view: ThreadView, algorithm: Algorithm): Stepper {
  const split = splitReducer(algorithm) as SplitReducer<unknown>;
  const { initial } = algorithm;
  return { split, layout: layoutFor(view, algorithm), initial, shares: sharesOf(algorithm) };
}

/** Decides on the key of a fingerprint; the other arguments are those of a prepared call. */
export type DecideOn = (
  stepper: Stepper,
  low: number,
  high: number,
  cost: number,
  dry: boolean,
  now: number,
) => Decision;

/** The general way to decide, closed over a thread's view of the store. */
export function decideIn(view: ThreadView): DecideOn {
  const { memory, memory: { ints }, thread, nodes, spares, signals } = view;
  const { found, find, scan, insert, replace } = view;

  /** One try; `undefined` if another thread was faster. */
  function attempt(
    { split: { take, decide }, layout, initial, shares }: Stepper,
    low: number,
    high: number,
    cost: number,
    dry: boolean,
    now: number,
  ): Decision | undefined {
    const block = find(low, high) || scan(low, high, now);
    const held = block === 0 ? undefined : layout.load(block);
    if (block !== 0 && !isUnchanged(memory, found.slot, found.word)) return undefined;
    const state = held === undefined ? initial : held;
    const next = take(state, now, cost);
    const decision = decide(state, next, now, cost);
    if (next === state || dry) {
      return block === 0 || isUnchanged(memory, found.slot, found.word) ? decision : undefined;
    }
    if (block === 0 && next === initial) return decision;
    const freshAt = next === initial ? 0 : freshAtWith(now + decision.resetAfter, decision, shares);
    writeBlock(memory, layout, spares.spare(), low, high, next, freshAt, block);
    if (block === 0 ? insert(high, now) : replace()) return decision;
    nodes.abandon();
    return undefined;
  }

  return function decideOn(stepper, low, high, cost, dry, now) {
    enter(view);
    try {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        found.slot = 0;
        try {
          const decision = attempt(stepper, low, high, cost, dry, now);
          if (decision === undefined) continue;
          if (cost < 0) signals.signal(low);
          return decision;
        } catch (error) {
          recover(view, error, now, () => found.slot === 0 || ints[found.slot] === found.word);
        }
      }
    } finally {
      unlock(thread);
    }
    throw contentionError();
  };
}

/**
 * The prepared call of an algorithm: what `decideOn` and `table.ts` do for a key that is there,
 * written out as one function that is closed over all it needs, as it is the fastest so. What is not
 * plain is left to `decideOn`: a refund, a new key, a key that a batch holds, a thread without a
 * record, a lack of nodes, a race lost.
 *
 * @param startOfKeys Where the hashes of the keys begin, which changes as keys are reset.
 */
export function preparedCall(
  view: ThreadView,
  decideOn: DecideOn,
  stepper: Stepper,
  startOfKeys: () => HashStart,
): PreparedCall<Decision> {
  const { memory, thread, spares, nodes } = view;
  const { ints, floats, blocks, blockMask, lastBlock } = memory;
  const { keepsOrder } = memory;
  const versionOne = (blockMask + 1) | 0;
  const { split: { take, decide }, initial, shares, layout, layout: { isNumber } } = stepper;
  const fingerprint = new Int32Array(2);
  let resets = ints[header.resets];
  let keys = startOfKeys();
  // The key of the last call, and its slot, which is looked at again.
  let lastKey = "";
  let slot = 0;

  return function decideOne(key, cost, dry, at) {
    const now = at === undefined ? Date.now() : at;
    if (ints[header.resets] !== resets) {
      resets = ints[header.resets];
      keys = startOfKeys();
      lastKey = "";
    }
    if (key !== lastKey) {
      hashText(keys, key, fingerprint);
      lastKey = key;
      slot = slotByTag(memory, fingerprint[0]!, fingerprint[1]!);
    }
    const low = fingerprint[0]! & ~3;
    const high = fingerprint[1]!;
    const { record } = thread;
    const word = slot === 0 ? 0 : ints[slot]!;
    const block = word & blockMask;
    if (
      block === 0 || block > lastBlock || cost < 0 ||
      // Not to be had while another thread looks whose the record is, or after a call was cut short.
      Atomics.compareExchange(ints, record + field.announced, 0, word) !== 0
    ) {
      lastKey = "";
      return decideOn(stepper, low, high, cost, dry, now);
    }
    try {
      const start = blocks + block * BLOCK;
      if (
        ints[record + field.owner] === thread.owner &&
        (keepsOrder ? ints[slot]! : Atomics.load(ints, slot)) === word &&
        (ints[start]! & ~3) === low && ints[start + 1] === high
      ) {
        const held = isNumber ? floats[(start >> 1) + 2]! : layout.load(block);
        const state = held === undefined ? initial : held;
        ints[record + field.calls]!++;
        const next = take(state, now, cost);
        const decision = decide(state, next, now, cost);
        if (next === state || dry) {
          if (keepsOrder ? ints[slot] === word : isUnchanged(memory, slot, word)) return decision;
        } else {
          const head = ints[record + field.head]!;
          const spare = head === ints[record + field.vetted]
            ? spares.spare()
            : ints[record + field.ring + (head & (RING_SIZE - 1))]!;
          const to = blocks + spare * BLOCK;
          ints[to + 1] = high;
          floats[(to >> 1) + 1] = next === initial
            ? 0
            : freshAtWith(now + decision.resetAfter, decision, shares);
          if (isNumber) {
            ints[to] = low;
            floats[(to >> 1) + 2] = next as number;
          } else {
            const kind = layout.save(next, spare, block);
            if (kind !== 0) noteHolder(memory, spare, low, block);
            ints[to] = low | kind;
            thread.isChanging = true;
          }
          const changed = (((word & ~blockMask) + versionOne) | 0) | spare;
          // Taken before it is known to be spent: a call that is cut short may lose a block, no more.
          ints[record + field.head]!++;
          if (Atomics.compareExchange(ints, slot, word, changed) === word) {
            const tail = ints[record + field.tail]!;
            ints[record + field.ring + (tail & (RING_SIZE - 1))] = block;
            ints[record + field.tail] = tail + 1;
            if (isNumber) return decision;
            nodes.commit();
            thread.isChanging = false;
            return decision;
          }
          ints[record + field.head]!--;
          ints[record + field.counters + counter.contention]!++;
          thread.isChanging = false;
        }
      }
    } catch (error) {
      // A lack of nodes, or what came of a state that another thread has let go of.
      if (isNumber || thread.isChanging) throw error;
    } finally {
      if (isNumber || !thread.isChanging) {
        if (keepsOrder) ints[record + field.announced] = 0;
        else Atomics.store(ints, record + field.announced, 0);
      }
    }
    lastKey = "";
    return decideOn(stepper, low, high, cost, dry, now);
  };
}

/**
 * Begins a call: the thread's record is locked until the call ends.
 *
 * @throws {StoreUnavailableError} If the store is closed.
 * @throws {StoreFullError} If the thread has lost its record, and there is none for it.
 */
export function enter({ memory: { ints }, thread, nodes, protectedSlots }: ThreadView): void {
  requireOpen(thread);
  const { isChanging, isInCall } = thread;
  // Nobody knows what was done of a change that was cut short.
  if (isChanging) nodes.forget();
  lockOwnRecord(thread);
  ints[thread.record + field.calls]!++;
  nodes.abandon();
  if (!isInCall && !isChanging) return;
  clearMore(thread);
  protectedSlots.length = 0;
}

/** Throws a `StoreUnavailableError` if the store is closed. */
export function requireOpen(thread: Thread): void {
  if (!isDetached(thread)) return;
  throw new StoreUnavailableError("Cannot decide as the shared store must be open", "no");
}

/**
 * Goes on after a throw that another thread's swap, or a lack of nodes, may have caused.
 *
 * @param isUnchanged Whether all is yet as the call found it.
 */
export function recover(
  { thread, nodes, makeNodes }: ThreadView,
  error: unknown,
  now: number,
  isUnchanged: () => boolean,
): void {
  if (thread.isChanging) throw error;
  nodes.abandon();
  if (error === OUT_OF_NODES) makeNodes(now);
  else if (error !== TORN && isUnchanged()) throw error;
}

/** The error of a call that has lost too many races. */
export function contentionError(): ContentionError {
  return new ContentionError(`Cannot decide as a race was lost ${MAX_TRIES} times`);
}
