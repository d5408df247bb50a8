/*
 * A decision on one key, the general way: find the key, step its state, write the next one beside
 * it and swap that in; if another thread was faster, all once more.
 */

import type { Algorithm, Halves } from "../../core/algorithm.ts";
import { halvesOf } from "../../core/algorithms/halves_of.ts";
import type { Decision } from "../../core/decision.ts";
import { ContentionError } from "../../core/errors.ts";
import type { Calls } from "./enter_call.ts";
import { OUT_OF_NODES } from "./memory/nodes.ts";
import type { StateLayout } from "./states/block_layout.ts";
import { TORN } from "./states/stored_timeline.ts";
import { layoutFor, type ThreadView } from "./thread_view.ts";

/** Lost races after which a call fails. */
export const MOST_TRIES = 1_000_000;

/** An algorithm as a store of one thread steps it. */
export interface Stepper {
  readonly halves: Halves<unknown>;
  readonly layout: StateLayout;
  readonly initial: unknown;
}

/** How a view steps an algorithm. */
export function stepperOf(view: ThreadView, algorithm: Algorithm): Stepper {
  const halves = halvesOf(algorithm) as Halves<unknown>;
  return { halves, layout: layoutFor(view, algorithm), initial: algorithm.initial };
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
export function decideIn(view: ThreadView, calls: Calls): DecideOn {
  const { memory: { ints }, nodes, spares, table, scan, insert, write } = view;
  const { found } = table;

  /** One try; `undefined` if another thread was faster. */
  function attempt(
    { halves: { take, decide }, layout, initial }: Stepper,
    low: number,
    high: number,
    cost: number,
    dry: boolean,
    now: number,
  ): Decision | undefined {
    let block = table.find(low, high);
    if (block === 0) block = scan(low, high, now);
    const { slot, word } = found;
    const held = block === 0 ? undefined : layout.load(block);
    if (block !== 0 && ints[slot] !== word) return undefined;
    const state = held === undefined ? initial : held;
    const next = take(state, now, cost);
    const decision = decide(state, next, now, cost);
    if (next === state || dry) return block === 0 || ints[slot] === word ? decision : undefined;
    if (block === 0 && next === initial) return decision;
    const freshAt = next === initial ? 0 : now + decision.resetAfter;
    write(layout, spares.spare(), low, high, next, freshAt, block);
    if (block === 0 ? insert(high, now) : table.replace()) return decision;
    nodes.abandon();
    return undefined;
  }

  return function decideOn(stepper, low, high, cost, dry, now) {
    calls.enter();
    try {
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        found.slot = 0;
        try {
          const decision = attempt(stepper, low, high, cost, dry, now);
          if (decision !== undefined) return decision;
        } catch (error) {
          recover(view, error, now, () => found.slot === 0 || ints[found.slot] === found.word);
        }
      }
    } finally {
      calls.leave();
    }
    throw contentionError();
  };
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
  return new ContentionError(`Cannot decide as a race was lost ${MOST_TRIES} times`);
}
