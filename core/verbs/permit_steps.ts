/*
 * The steps of `hold`, `renew` and `release`. In `all`, a permit is held by every part that has
 * permits, and the other parts are charged once, when it is first held: a renewal or a release does
 * not change them.
 */

import type { Algorithm } from "../algorithm.ts";
import { holdsPermits } from "../algorithms/holds_permits.ts";
import { mayDelay } from "../algorithms/may_delay.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import { typeError } from "../options/checks.ts";
import type { Steps, Verb } from "../store.ts";

/** A permit, as its holder names it. */
export interface PermitArgument {
  /** Its id: a whole number from 1 to 2^53 - 1 that no other holder has, such as 53 random bits. */
  readonly id: number;
  /** Its units. */
  readonly cost: number;
}

/** A verb of a permit. It answers with a decision that is allowed if the permit is, or was, held. */
export type PermitVerb = Verb<PermitArgument, Decision>;

/** The transitions of a permit in the state of an algorithm, or of a part. */
export interface PermitSteps {
  /**
   * The state after the permit is held or, if it is held already, renewed; the same state if it is
   * refused.
   */
  hold(state: unknown, now: number, argument: PermitArgument): unknown;
  /** The state after the permit is renewed; the same state if the permit is gone. */
  renew(state: unknown, now: number, argument: PermitArgument): unknown;
  /** The state after the permit is released; the same state if the permit is gone. */
  release(state: unknown, now: number, argument: PermitArgument): unknown;
  /** Whether every part with permits holds it; `undefined` if there is no such part. */
  holds(state: unknown, now: number, argument: PermitArgument): boolean | undefined;
}

/** Makes a verb of a permit. */
export function permitVerb(
  name: string,
  kind: Verb<PermitArgument, Decision>["kind"],
  stepsOf: (steps: PermitSteps, algorithm: Algorithm) => Steps<PermitArgument, Decision>,
  undo?: PermitVerb["undo"],
): PermitVerb {
  return Object.freeze({
    ...(undo && { undo }),
    name,
    kind,
    units: ({ cost }: PermitArgument) => cost,
    byId: name !== "hold",
    on(algorithm: Algorithm) {
      requirePermits(name, algorithm);
      return stepsOf(permitSteps(algorithm), algorithm);
    },
    decisionOf: (decision: Decision) => decision,
    answerOf: (decision: Decision) => decision,
    transition: () => undefined,
  });
}

/** A look at a state. */
export function lookOf(algorithm: Algorithm): (state: unknown, now: number) => Decision {
  const { decide } = splitReducer(algorithm);
  return (state, now) => decide(state, state, now, 0);
}

/**
 * Requires an algorithm with permits.
 *
 * @throws {TypeError} If it has no permits; the message names `concurrency`.
 */
export function requirePermits(verb: string, algorithm: Algorithm): void {
  if (!holdsPermits(algorithm)) {
    const rule = "its algorithm must be concurrency(...), or an all(...) that contains it";
    throw typeError(`${verb} a permit`, rule, algorithm.id);
  }
  if (!mayDelay(algorithm)) return;
  const rule = "no permit may be held while its call waits for the turn that leakyQueue gives it";
  throw typeError(`${verb} a permit`, rule, algorithm.id);
}

function permitSteps(algorithm: Algorithm): PermitSteps {
  const { permits, parts } = algorithm.internals ?? {};
  if (parts !== undefined) return stepsOfAll(parts, algorithm.initial as readonly unknown[]);
  if (permits === undefined) return stepsOfOthers(algorithm);
  return {
    hold: (state, now, { cost, id }) => permits.hold(state, now, cost, id),
    renew: (state, now, { id }) => permits.renew(state, now, id),
    release: (state, now, { id }) => permits.release(state, now, id),
    holds: (state, now, { id }) => permits.holds(state, now, id),
  };
}

/** A part without permits is charged when the permit is first held, and never again. */
function stepsOfOthers(algorithm: Algorithm): PermitSteps {
  const { take } = splitReducer(algorithm);
  const same = (state: unknown) => state;
  return {
    hold: (state, now, { cost }) => take(state, now, cost),
    renew: same,
    release: same,
    holds: () => undefined,
  };
}

function stepsOfAll(
  algorithms: readonly Algorithm[],
  initial: readonly unknown[],
): PermitSteps {
  const parts = algorithms.map(permitSteps);
  const splits = algorithms.map((algorithm) => splitReducer(algorithm));

  /** The states after a step of each part. */
  function each(
    states: unknown,
    step: (part: PermitSteps, state: unknown) => unknown,
  ): readonly unknown[] {
    const before = states as readonly unknown[];
    const nexts = parts.map((part, index) => step(part, before[index]));
    if (nexts.every((next, index) => next === before[index])) return before;
    return nexts.every((next, index) => next === initial[index]) ? initial : nexts;
  }

  const steps: PermitSteps = {
    hold(states, now, argument) {
      if (steps.holds(states, now, argument)) return steps.renew(states, now, argument);
      const nexts = each(states, (part, state) => part.hold(state, now, argument));
      const before = states as readonly unknown[];
      const isRefused = parts.some((part, index) => {
        const held = part.holds(nexts[index], now, argument);
        if (held !== undefined) return !held;
        const state = before[index];
        return nexts[index] === state &&
          !splits[index]!.decide(state, state, now, argument.cost).allowed;
      });
      return isRefused ? states : nexts;
    },
    renew: (states, now, argument) =>
      each(states, (part, state) => part.renew(state, now, argument)),
    release: (states, now, argument) =>
      each(states, (part, state) => part.release(state, now, argument)),
    holds(states, now, argument) {
      let all: boolean | undefined;
      parts.forEach((part, index) => {
        const held = part.holds((states as readonly unknown[])[index], now, argument);
        if (held !== undefined) all = held && all !== false;
      });
      return all;
    },
  };
  return steps;
}
