/*
 * What every store does with a batch of operations, as a pure function: step each state, and charge
 * all of them or none. A store only loads states and commits the writes.
 */

import type { Algorithm } from "../algorithm.ts";
import { carryOver } from "../carry_over.ts";
import { checkCost, checkNow } from "../options/checks.ts";
import type { Decision } from "../decision.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Operation, Replaced } from "./old_store.ts";

/** A state to be kept, or a key to be forgotten. */
export interface Write {
  /** The stored key. */
  readonly key: string;
  /** Whose state it is. */
  readonly algorithm: Algorithm;
  /** The state to keep; `algorithm.initial` when the key is to be forgotten. */
  readonly state: unknown;
  /** Milliseconds until the key is fresh: the least time that the state must be kept. */
  readonly resetAfter: number;
}

/** What a batch of operations comes to. */
export interface Transaction {
  /** Each operation's decision, in order. */
  readonly decisions: readonly Decision[];
  /**
   * What to replace in the store, all of it at once and in order. If a call was refused, only what
   * keys have taken over from older options.
   */
  readonly writes: readonly Write[];
}

/**
 * What a store does, without the store: it steps each operation's state, and charges all of them
 * or none. A store loads the states, calls this, and commits the writes; after a lost race it loads
 * and calls again.
 *
 * When an operation is refused, an admitted one is answered by a look (cost 0), as `all` answers
 * for its parts, and nothing is charged. What a key takes over from older options is written all the
 * same.
 *
 * @param operations At least one; no key twice.
 * @param stateOf The state held under a key; `undefined` if none is, or its shape is unknown.
 * @param now The instant: milliseconds since the Unix epoch, 0 to 2^42.
 * @throws {RangeError} If `now` or a cost is out of range; nothing is to be written.
 */
export function transact(
  operations: readonly Operation[],
  stateOf: (key: string, algorithm: Algorithm) => unknown,
  now: number,
): Transaction {
  const instant = checkNow(now);
  for (const { cost } of operations) checkCost("run an operation", cost);
  const conversions: Write[] = [];
  const writes: Write[] = [];
  const looks: (() => Decision)[] = [];
  const decisions = operations.map((operation) => {
    const { key, algorithm, cost, dry } = operation;
    const { take, decide } = splitReducer(algorithm);
    const held = stateOf(key, algorithm);
    const state = held ?? takenOver(operation, stateOf, instant);
    const next = take(state, instant, cost);
    const decision = decide(state, next, instant, cost);
    const look = () => decide(state, state, instant, 0);
    looks.push(cost !== 0 && decision.allowed ? look : () => decision);
    if (dry) return decision;
    // Otherwise the next call would convert the older state again, and find no time passed.
    if (held === undefined && state !== algorithm.initial) {
      conversions.push({ key, algorithm, state, resetAfter: look().resetAfter });
      conversions.push(forgotten(operation.replaces!));
    }
    if (next !== state) {
      writes.push({ key, algorithm, state: next, resetAfter: decision.resetAfter });
    }
    return decision;
  });
  return decisions.every((decision) => decision.allowed)
    ? { decisions, writes: [...conversions, ...writes] }
    : { decisions: looks.map((look) => look()), writes: conversions };
}

/** The state of a key that holds none: fresh, or what it had used under its older options. */
function takenOver(
  { algorithm, replaces }: Operation,
  stateOf: (key: string, algorithm: Algorithm) => unknown,
  now: number,
): unknown {
  const old = replaces && stateOf(replaces.key, replaces.algorithm);
  if (old === undefined || replaces === undefined) return algorithm.initial;
  return carryOver(replaces.algorithm, old, algorithm, replaces.mode, now);
}

function forgotten({ key, algorithm }: Replaced): Write {
  return { key, algorithm, state: algorithm.initial, resetAfter: 0 };
}
