/*
 * A key of a store together with its algorithm, and one way to call it: by `run`, or by the
 * prepared call that limiters use. Laws cover both paths with the same code.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { storedKeyIn } from "../../../core/limiter/prepare_call.ts";
import { charging } from "../../../core/limiter/wrapped_algorithm.ts";
import type { Operation, PreparedCall, Store } from "../../../core/store.ts";
import type { Guide } from "../arbitraries/schedules.ts";
import { gridsOf, type Subject } from "../arbitraries/subjects.ts";

/** A key of a store, under an algorithm. */
export interface StoreSlot {
  /** The limiter's prefix. */
  readonly prefix: string;
  /** The limiter's key. */
  readonly key: string;
  /** The key under which the store keeps it. */
  readonly stored: string;
  /** The limiter's algorithm. */
  readonly algorithm: Algorithm;
  /** Its numbers, for schedules. */
  readonly guide: Guide;
}

/** The slot of a key, with its stored key as the given store forms it. */
export function storeSlot(store: Store, prefix: string, subject: Subject, key: string): StoreSlot {
  const { algorithm } = subject;
  const stored = storedKeyIn(store, prefix, algorithm.id, key);
  const guide = { capacity: algorithm.capacity, grids: gridsOf(subject) };
  return { prefix, key, stored, algorithm, guide };
}

/** The operation of one call on a slot. */
export function operationOn(
  { stored, algorithm }: StoreSlot,
  cost: number,
  dry: boolean = false,
  charge: boolean = false,
): Operation {
  return { key: stored, algorithm: charge ? charging(algorithm) : algorithm, cost, dry };
}

/** How `runOn` calls a store. */
export interface CallOptions {
  /** Whether nothing is written; default false. */
  readonly dry?: boolean;
  /** Whether to use the store's prepared call, if it has one; default false. */
  readonly lane?: boolean;
  /** Whether the units are charged, beyond the limit too; default false. */
  readonly charge?: boolean | undefined;
}

/** Runs one operation on a slot: by `run`, or by the store's prepared call. */
export async function runOn(
  store: Store,
  slot: StoreSlot,
  cost: number,
  now: number | undefined,
  { dry = false, lane = false, charge = false }: CallOptions = {},
): Promise<Decision> {
  if (lane && !charge && store.internals?.prepare !== undefined) {
    const call: PreparedCall<Decision | Promise<Decision>> = store.internals
      .prepare(slot.prefix, slot.algorithm);
    return await call(slot.key, cost, dry, now);
  }
  const [decision] = await store.run([operationOn(slot, cost, dry, charge)], now);
  return decision as Decision;
}

/** Whether a store accepts an algorithm; to reject it, it must throw a RangeError. */
export function isAccepted(store: Store, algorithm: Algorithm): boolean {
  try {
    store.accepts(algorithm);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
