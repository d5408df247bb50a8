/*
 * Algorithms around others, for waiting and charging. A store runs any algorithm; so one that steps
 * differently, but keeps its states in the same way, is run atomically on every store, and no store
 * needs to know of either.
 */

import type { Algorithm } from "../algorithm.ts";
import { fieldsOf } from "../algorithms/fields_of.ts";
import { mayDelay } from "../algorithms/may_delay.ts";
import type { Decision } from "../decision.ts";

/** A state, and the instant that it is seen from. */
export interface StateAt {
  readonly state: unknown;
  readonly at: number;
}

/** What an attempt found. */
export interface Attempt {
  /** The state of a refusal, where it was to be kept; `undefined` otherwise. */
  readonly refusedState: StateAt | undefined;
  /** The instant of the attempt. */
  readonly at: number;
  /** When the queue that delays calls is empty after it, or the key fresh if there is none. */
  readonly freshAt: number;
}

/**
 * The same algorithm, but it refuses what would have to wait longer than `maxDelay` for its start;
 * `retryAfter` is then that wait.
 *
 * @param report Receives what each step saw; after lost races the last one counts.
 * @param keepsState Whether the state of a refusal is to be reported. It is copied within the step: a
 * state of some stores is a view of memory that others write, and good only until the store answers.
 */
export function withMaxDelay(
  algorithm: Algorithm,
  maxDelay: number,
  report: (attempt: Attempt) => void,
  keepsState: () => boolean = () => false,
): Algorithm {
  const { codec } = algorithm;
  const around = (inner: Algorithm) => withMaxDelay(inner, maxDelay, report, keepsState);
  return withStep(algorithm, around, (state, now, cost) => {
    const result = algorithm.step(state, now, cost);
    // A store may take a look beside the call.
    if (cost === 0) return result;
    const { allowed, delay } = result[0];
    const starts = allowed && delay <= maxDelay;
    const refusedState = starts || !keepsState()
      ? undefined
      : { state: codec.decode(codec.encode(state)), at: now };
    report({ refusedState, at: now, freshAt: now + queueResetAfter(algorithm, result[0]) });
    if (!allowed || starts) return result;
    const [look] = algorithm.step(state, now, 0);
    return [{ ...look, allowed: false, retryAfter: delay }, state];
  });
}

/**
 * The same algorithm, but it gives back only if `freshAt` is what it was after the call whose units
 * are given back: if that was the last one to take any.
 */
export function refundingNewest(algorithm: Algorithm, freshAt: number): Algorithm {
  const around = (inner: Algorithm) => refundingNewest(inner, freshAt);
  return withStep(algorithm, around, (state, now, cost) => {
    const [look] = algorithm.step(state, now, 0);
    const isNewest = now + queueResetAfter(algorithm, look) === freshAt;
    return isNewest ? algorithm.step(state, now, cost) : [look, state];
  });
}

/** The same algorithm, but it gives nothing back. */
export function withoutRefunds(algorithm: Algorithm): Algorithm {
  return withStep(
    algorithm,
    withoutRefunds,
    (state, now, cost) => algorithm.step(state, now, Math.max(0, cost)),
  );
}

/** The same algorithm, but its step is its charge. */
export function charging(algorithm: Algorithm): Algorithm {
  const charged = withStep(algorithm, charging, algorithm.charge);
  const inner = algorithm.internals?.formula;
  const formula = inner === undefined ? undefined : ["charge", inner];
  return { ...charged, internals: { ...charged.internals, formula } };
}

/** Milliseconds until the queue that delays calls is empty: of an `all`, that of its parts. */
function queueResetAfter(algorithm: Algorithm, { resetAfter, parts }: Decision): number {
  const algorithms = algorithm.internals?.parts;
  if (algorithms === undefined || parts === undefined || !mayDelay(algorithm)) return resetAfter;
  const waits = algorithms.map((part, index) =>
    mayDelay(part) ? queueResetAfter(part, parts[index]!) : 0
  );
  return Math.max(...waits);
}

/** The same algorithm with another step, and without the split reducer, which would not fit it. */
function withStep(
  algorithm: Algorithm,
  around: (inner: Algorithm) => Algorithm,
  step: Algorithm["step"],
): Algorithm {
  const { parts, slots } = algorithm.internals ?? {};
  return {
    ...fieldsOf(algorithm),
    step,
    internals: { parts, slots, wraps: { inner: algorithm, around } },
  };
}
