/*
 * From questions to a reducer.
 *
 * Each algorithm answers five questions about a state: what it is after a charge, after giving
 * back, what remains, how long a cost waits, and when the state is fresh (a sixth, the delay, is
 * `leakyQueue`'s alone). The decision follows from the answers, once for all algorithms:
 *
 *   allowed      the state changed, or the cost was 0 or less
 *   remaining    remaining(next)
 *   retryAfter   wait(state, cost) of a refused cost; never, above the capacity
 *   nextAfter    wait(next, remaining + 1): when one unit more would be admitted
 *   resetAfter   reset(next)
 *
 * So the laws between the fields hold by construction, and an algorithm's file holds nothing but
 * its arithmetic.
 */

import type { Algorithm, Formula, Halves, Policy } from "../algorithm.ts";
import { checkCost, checkNow, checkText } from "../options/checks.ts";
import type { Codec } from "../codec.ts";
import type { Decision } from "../decision.ts";
import { fixDecisionShape, makeDecision } from "../make_decision.ts";

/**
 * What an algorithm knows. All of it is pure; `now` is a whole number from 0 to 2^42, and `cost`
 * and `units` are whole numbers.
 */
export interface Questions<State> {
  /** The state after taking `cost`, 1 to the capacity; the same state if it does not fit. */
  charge(state: State, now: number, cost: number): State;
  /** The state after giving back `units`, 1 or more, newest first; `initial` if no use is left. */
  giveBack(state: State, now: number, units: number): State;
  /** Whole units that one call could take now. */
  remaining(state: State, now: number): number;
  /** Milliseconds until `cost`, 1 to the capacity, is admitted; 0 if it is now. */
  wait(state: State, now: number, cost: number): number;
  /** Milliseconds until the state is as good as `initial`; 0 if it is now. */
  reset(state: State, now: number): number;
  /** Milliseconds that a call admitted in this state waits for its start; rounded up. */
  delay?(state: State, now: number): number;
}

/** The arithmetic of an algorithm, made of a few numbers. */
export interface Arithmetic<State> {
  readonly capacity: number;
  readonly initial: State;
  readonly questions: Questions<State>;
  readonly codec: Codec<State>;
}

/** What an algorithm is made of. */
export interface Parts<State> extends Arithmetic<State> {
  /** The policy's name; without one it is made of the numbers. */
  readonly name: string | undefined;
  /** The factory's name and its options, whole: `["gcra", 100, 60_000, 20]`. */
  readonly id: readonly [factory: string, ...options: readonly (number | string)[]];
  readonly limit: number;
  readonly period: number;
  /** What the arithmetic was made of, if it was of numbers alone. */
  readonly formula?: Formula;
  /** Of a window over a timeline: how many slots it covers. */
  readonly slots?: number;
  /** The two halves written out, where the questions are too slow; they must answer the same. */
  readonly halves?: Halves<State>;
}

/** Builds an algorithm of its parts. */
export function buildAlgorithm<State>(parts: Parts<State>): Algorithm<State> {
  const { limit, period, capacity, initial, codec } = parts;
  const action = `create ${parts.id[0]}`;
  if (parts.name !== undefined) checkText(action, "name", parts.name);
  const name = parts.name ?? nameOf(limit, period);
  const policy: Policy = Object.freeze({ name, limit, period, burst: capacity });
  fixDecisionShape();
  const halves = parts.halves ?? halve(limit, capacity, parts.questions);
  return Object.freeze({
    name,
    id: parts.id.join("/"),
    policies: Object.freeze([policy]),
    capacity,
    initial,
    step: stepOf(halves),
    codec,
    internals: Object.freeze({ halves, slots: parts.slots, formula: parts.formula }),
  });
}

/** The name of a policy that was given none: `100-in-60s`. */
function nameOf(limit: number, period: number): string {
  return `${limit}-in-${period % 1_000 === 0 ? `${period / 1_000}s` : `${period}ms`}`;
}

/** The reducer of two halves, with its arguments checked. */
export function stepOf<State>(halves: Halves<State>): Algorithm<State>["step"] {
  const { take, decide } = halves;
  return function step(state: State, now: number, cost: number): readonly [Decision, State] {
    const instant = checkNow(now);
    checkCost("step", cost);
    const next = take(state, instant, cost);
    return [decide(state, next, instant, cost), next];
  };
}

/** The state transition that follows from the questions. */
export function takeBy<State>(
  { charge, giveBack }: Pick<Questions<State>, "charge" | "giveBack">,
  capacity: number,
): Halves<State>["take"] {
  return function take(state, now, cost) {
    if (cost > 0) return cost <= capacity ? charge(state, now, cost) : state;
    return cost < 0 ? giveBack(state, now, -cost) : state;
  };
}

function halve<State>(
  limit: number,
  capacity: number,
  questions: Questions<State>,
): Halves<State> {
  const { remaining, wait, reset, delay = none } = questions;
  return Object.freeze({
    take: takeBy(questions, capacity),
    decide(state: State, next: State, now: number, cost: number): Decision {
      const allowed = cost <= 0 || next !== state;
      const left = remaining(next, now);
      return makeDecision(
        allowed,
        limit,
        left,
        allowed ? 0 : cost > capacity ? Infinity : wait(state, now, cost),
        left >= capacity ? 0 : wait(next, now, left + 1),
        reset(next, now),
        allowed && cost > 0 ? delay(state, now) : 0,
        undefined,
        undefined,
      );
    },
  });
}

function none(): number {
  return 0;
}
