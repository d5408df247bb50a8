/*
 * A key of a store together with its algorithm, and both ways to call it: several operations at once,
 * and a bound verb on one key. Laws cover both ways with the same code.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Family, Operation, Store, StoreBase } from "../../../core/store.ts";
import { charge } from "../../../core/verbs/charge.ts";
import { consume } from "../../../core/verbs/consume.ts";
import type { DecisionVerb } from "../../../core/verbs/decision_verb.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { refund } from "../../../core/verbs/refund.ts";
import type { Guide } from "../arbitraries/schedules.ts";
import { gridsOf, type Subject } from "../arbitraries/subjects.ts";

/** A key of a store that is put to the laws, under an algorithm. */
export interface TestedKey {
  /** The limiter's prefix. */
  readonly prefix: string;
  /** The limiter's key. */
  readonly key: string;
  /** The name under which the store keeps it. */
  readonly stored: string;
  /** The limiter's algorithm. */
  readonly algorithm: Algorithm;
  /** The keys of the limiter, on the store. */
  readonly family: Family;
  /** Its numbers, for schedules. */
  readonly guide: Guide;
}

/** A key of a store, under the algorithm of a subject. */
export function testedKey(store: Store, prefix: string, subject: Subject, key: string): TestedKey {
  const { algorithm } = subject;
  const family = (store as StoreBase).open({ prefix, algorithm, older: [] });
  const guide = { capacity: algorithm.capacity, grids: gridsOf(subject) };
  return { prefix, key, stored: family.nameOf(key), algorithm, family, guide };
}

/** How a call is made. */
export interface CallOptions {
  /** Whether it only looks; default false. */
  readonly dry?: boolean | undefined;
  /** Whether it is a single call of a bound verb, and not a list of one operation; default false. */
  readonly lane?: boolean | undefined;
  /** Whether the units are charged, beyond the limit too; default false. */
  readonly charge?: boolean | undefined;
}

/** One operation of units. */
export interface UnitsOperation extends Operation {
  /** Units, at least 0. */
  readonly argument: number;
}

/** The operation of one call on a key: a negative cost gives units back. */
export function operationOn(
  { key, family }: Pick<TestedKey, "key" | "family">,
  cost: number,
  options: CallOptions = {},
): UnitsOperation {
  const [verb, argument] = verbOf(cost, options);
  return { bound: family.bind(verb), key, argument };
}

/** The verb of a call, and its units. A look at a refund is a look at the balance. */
export function verbOf(cost: number, { dry = false, charge: charges = false }: CallOptions = {}): [
  verb: DecisionVerb,
  units: number,
] {
  if (dry) return [peek, cost < 0 ? 0 : cost];
  if (cost < 0) return [refund, -cost];
  return [charges ? charge : consume, cost];
}

/** Runs one operation on a key of the store. */
export async function runOn(
  store: Store,
  { key, family }: Pick<TestedKey, "key" | "family">,
  cost: number,
  now: number | undefined,
  options: CallOptions = {},
): Promise<Decision> {
  const operation = operationOn({ key, family }, cost, options);
  if (options.lane) return await operation.bound.call(key, operation.argument, now);
  const [decision] = await store.run([operation], now);
  return decision as Decision;
}

/** Whether a store accepts an algorithm; to reject it, `open` must throw a RangeError. */
export function isAccepted(store: Store, algorithm: Algorithm): boolean {
  try {
    store.open({ prefix: "accepted", algorithm, older: [] });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
