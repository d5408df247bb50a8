/*
 * A decision on one key: find the key, step its state, write the next state into a spare block, and
 * swap that block in. If another thread was faster, start again. `decideOn` does so for any key.
 * `singleCall` is the same, written out for keys in their home bucket. It leaves all others to
 * `decideOn`.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { ContentionError, StoreUnavailableError } from "../../core/errors.ts";
import { keptFor } from "../../core/kept_for.ts";
import { requireWellFormed } from "../../core/options/well_formed.ts";
import type { Steps, Verb } from "../../core/store.ts";
import { BLOCK, field, header, RING_SIZE } from "./layout.ts";
import { OUT_OF_NODES } from "./allocator/nodes.ts";
import { noteHolder, type StateLayout, writeBlock } from "./states/block_layout.ts";
import { freshAtWith, type ShareScale, shareScaleOf, STEPS, stepsLeft } from "./states/fresh_at.ts";
import { TORN } from "./states/stored_timeline.ts";
import { type HashStart, hashText } from "./table/hash.ts";
import { isUnchanged, slotByTag } from "./table/table.ts";
import { layoutFor, type ThreadView } from "./thread_view.ts";
import { clearMore } from "./threads/announcements.ts";
import { restAfterLoss } from "./threads/rest_after_loss.ts";
import { counter, isDetached, lockOwnRecord, type Thread, unlock } from "./threads/thread.ts";

/** Lost races after which a call fails. */
export const MAX_TRIES = 1_000_000;

/** A verb on an algorithm, with what the store of one thread needs to step it. */
export interface Stepper<Argument, Answer> {
  readonly steps: Steps<Argument, Answer>;
  /** Whether a state may outlast its use. */
  readonly outlasts: boolean;
  readonly decisionOf: Verb<Argument, Answer>["decisionOf"];
  /** Whether it gives units back, which wakes callers that wait in other threads. */
  readonly frees: boolean;
  readonly algorithm: Algorithm;
  readonly layout: StateLayout;
  readonly initial: unknown;
  readonly shares: ShareScale;
}

/** The stepper of a verb on an algorithm, for one thread's view of the store. */
export function stepperOf<Argument, Answer>(
  view: ThreadView,
  algorithm: Algorithm,
  verb: Verb<Argument, Answer>,
  steps: Steps<Argument, Answer>,
): Stepper<Argument, Answer> {
  const { initial } = algorithm;
  const { kind, decisionOf } = verb;
  const layout = layoutFor(view, algorithm);
  return {
    steps,
    outlasts: algorithm.internals?.keptFor !== undefined,
    decisionOf,
    frees: kind === "free",
    algorithm,
    layout,
    initial,
    shares: shareScaleOf(algorithm),
  };
}

/** Decides on the key of a fingerprint. */
export type DecideOn = <Argument, Answer>(
  stepper: Stepper<Argument, Answer>,
  low: number,
  high: number,
  argument: Argument,
  now: number,
) => Answer;

/** The general way to decide, closed over a thread's view of the store. */
export function decideIn(view: ThreadView): DecideOn {
  const { memory, memory: { ints }, thread, nodes, spares, signals } = view;
  const { found, find, scan, insert, replace } = view;

  /** One try; `undefined` if another thread was faster. */
  function attempt<Argument, Answer>(
    { steps, decisionOf, algorithm, layout, initial, shares }: Stepper<Argument, Answer>,
    low: number,
    high: number,
    argument: Argument,
    now: number,
  ): Answer | undefined {
    const block = find(low, high) || scan(low, high, now);
    const held = block === 0 ? undefined : layout.load(block);
    if (block !== 0 && !isUnchanged(memory, found.slot, found.word)) return undefined;
    const state = held === undefined ? initial : held;
    const next = steps.next(state, now, argument);
    const answer = steps.answer(state, next, now, argument);
    if (next === state) {
      return block === 0 || isUnchanged(memory, found.slot, found.word) ? answer : undefined;
    }
    if (block === 0 && next === initial) return answer;
    const decision = decisionOf(answer);
    const freshAt = next === initial
      ? 0
      : freshAtWith(now + keptFor(algorithm, next, now, decision), decision, shares);
    writeBlock(memory, layout, spares.spare(), low, high, next, freshAt, block);
    if (block === 0 ? insert(high, now) : replace()) return answer;
    nodes.abandon();
    return undefined;
  }

  return function decideOn(stepper, low, high, argument, now) {
    enter(view);
    try {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        found.slot = 0;
        try {
          const answer = attempt(stepper, low, high, argument, now);
          if (answer === undefined) {
            restAfterLoss(thread);
            continue;
          }
          if (stepper.frees) signals.signal(low);
          return answer;
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
 * The single calls of a verb: the work of `decideOn` and `table.ts` for a key that is present. It is
 * one function, closed over everything that it needs, because that is fastest. It leaves all other
 * cases to `decideOn`: refunds, a new key, a key outside its home bucket, a key that a batch holds, a
 * state beside numbers that is none, a thread without a record, a lack of nodes, and a lost race.
 *
 * @param startOfKeys Where the hashes of the keys begin, which changes when keys are reset.
 */
export function singleCall<Argument, Answer>(
  view: ThreadView,
  decideOn: DecideOn,
  stepper: Stepper<Argument, Answer>,
  startOfKeys: () => HashStart,
): (key: string, argument: Argument, at: number | undefined) => Answer {
  const { memory, thread, spares, nodes, time } = view;
  const { ints, floats, blocks, blockMask, lastBlock } = memory;
  const { keepsOrder } = memory;
  const versionOne = (blockMask + 1) | 0;
  const { steps, outlasts, layout, decisionOf, frees, algorithm, initial, shares } = stepper;
  const { next: nextOf, answer: answerOf } = steps;
  const { isNumber } = layout;
  const fingerprint = new Int32Array(2);
  // Low bits of the fingerprint in a block: 0 if the state is a number.
  const keyBits = isNumber ? ~0 : ~3;
  let resets = ints[header.resets];
  let keys = startOfKeys();
  // The key of the last call, and its slot: the next call often has the same key, and looks there
  // first.
  let lastKey = "";
  let slot = 0;

  /** A call on a key that may not be held. A key that is held is well-formed. */
  function decideOther(key: string, low: number, high: number, argument: Argument, now: number) {
    requireWellFormed(key);
    lastKey = "";
    return decideOn(stepper, low, high, argument, now);
  }

  return function decideOne(key, argument, at) {
    const now = at === undefined ? time() : at;
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
      block === 0 || block > lastBlock || frees ||
      // The record is locked if another thread tries to take it over, or if a call was cut short.
      Atomics.compareExchange(ints, record + field.announced, 0, word) !== 0
    ) {
      return decideOther(key, low, high, argument, now);
    }
    try {
      const start = blocks + block * BLOCK;
      if (
        ints[record + field.owner] === thread.owner &&
        (keepsOrder ? ints[slot]! : Atomics.load(ints, slot)) === word &&
        (ints[start]! & keyBits) === low && ints[start + 1] === high
      ) {
        const held = isNumber ? floats[(start >> 1) + 2]! : layout.load(block);
        const state = held === undefined ? initial : held;
        ints[record + field.calls]!++;
        const next = nextOf(state, now, argument);
        const answer = answerOf(state, next, now, argument);
        if (next === state) {
          // An announced block is not written again, but its nodes may be: check after reading
          // them.
          if (isNumber || isUnchanged(memory, slot, word)) return answer;
        } else if (!isNumber || typeof next === "number") {
          const decision = decisionOf(answer);
          const head = ints[record + field.head]!;
          const spare = head === ints[record + field.vetted]
            ? spares.spare()
            : ints[record + field.ring + (head & (RING_SIZE - 1))]!;
          const to = blocks + spare * BLOCK;
          ints[to + 1] = high;
          const kept = outlasts && !isNumber
            ? keptFor(algorithm, next, now, decision)
            : decision.resetAfter;
          floats[(to >> 1) + 1] = next === initial
            ? 0
            // The same as freshAtWith, whose result an engine would allocate.
            : now + kept - stepsLeft(decision, shares) / STEPS;
          if (isNumber) {
            ints[to] = low;
            floats[(to >> 1) + 2] = next as number;
          } else {
            const kind = layout.save(next, spare, block);
            if ((kind & 1) !== 0) noteHolder(memory, spare, low, block);
            ints[to] = low | kind;
            thread.isChanging = true;
          }
          const changed = (((word & ~blockMask) + versionOne) | 0) | spare;
          // The block counts as spent before the swap, so a call that is cut short loses one block.
          ints[record + field.head]!++;
          if (Atomics.compareExchange(ints, slot, word, changed) === word) {
            const tail = ints[record + field.tail]!;
            ints[record + field.ring + (tail & (RING_SIZE - 1))] = block;
            ints[record + field.tail] = tail + 1;
            if (isNumber) return answer;
            nodes.commit();
            thread.isChanging = false;
            return answer;
          }
          ints[record + field.head]!--;
          ints[record + field.counters + counter.contention]!++;
          thread.isChanging = false;
          restAfterLoss(thread);
        }
      }
    } catch (error) {
      // Either nodes are lacking, or another thread released the state while this one read it.
      if (isNumber || thread.isChanging) throw error;
    } finally {
      if (isNumber || !thread.isChanging) {
        if (keepsOrder) ints[record + field.announced] = 0;
        else Atomics.store(ints, record + field.announced, 0);
      }
    }
    return decideOther(key, low, high, argument, now);
  };
}

/**
 * Begins a call: the thread's record is locked until the call ends.
 *
 * @throws {StoreUnavailableError} If the store is closed.
 * @throws {StoreFullError} If the thread has lost its record and no record is free.
 */
export function enter({ memory: { ints }, thread, nodes, protectedSlots }: ThreadView): void {
  requireOpen(thread);
  const { isChanging, isInCall } = thread;
  // If a change was cut short, nobody knows how much of it was done.
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
 * Goes on after an error that another thread's swap, or a lack of nodes, may have caused.
 *
 * @param isUnchanged Whether no key has changed since the call found it.
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
  return new ContentionError(`Cannot decide because a race was lost ${MAX_TRIES} times`);
}
