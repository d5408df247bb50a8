/*
 * State transitions by their formulas, of the very functions that reducers are made of.
 */

import type { Formula, SplitReducer } from "../../../core/algorithm.ts";
import { decodeAll, encodeAll, takeAll } from "../../../core/algorithms/all.ts";
import { arrivalArithmetic } from "../../../core/algorithms/arrival_time_algorithm.ts";
import { type Arithmetic, chargeBy, takeBy } from "../../../core/algorithms/build_algorithm.ts";
import { inRow, opened, windowArithmetic } from "../../../core/algorithms/fixed_window.ts";
import { counterArithmetic } from "../../../core/algorithms/sliding_counter.ts";
import { wholeTicks } from "../../../core/arithmetic/ticks.ts";
import { MOST_AHEAD } from "../../../core/bounded_state.ts";
import type { Codec } from "../../../core/codec.ts";

type Five = readonly [number, number, number, number, number];

/** The part of an algorithm that replaces a state. It makes no decisions. */
export interface Transition<State = unknown> {
  readonly initial: State;
  readonly take: SplitReducer<State>["take"];
  /** Milliseconds until the state is fresh. */
  readonly reset: (state: State, now: number) => number;
  readonly encode: Codec<State>["encode"];
  readonly decode: Codec<State>["decode"];
  /** The states of `core/bounded_state.ts`. */
  readonly furthest?: (now: number) => State;
  readonly full?: (now: number) => State;
  readonly parts?: readonly Transition[];
}

/** Whether a state or a part of it is further ahead than free units bring it, by more than that. */
export function isAhead(transition: Transition, state: unknown, now: number, by: number): boolean {
  const { parts, furthest, reset } = transition;
  if (parts !== undefined) {
    return parts.some((part, index) => isAhead(part, (state as unknown[])[index], now, by));
  }
  const ends = reset(furthest!(0), 0);
  const most = (at: number) => reset(furthest!(at), at);
  const longest = Math.max(ends, most(ends), most(now));
  return reset(state, now) > longest + by;
}

/** A state that is too far ahead at its bound. */
export function bounded(transition: Transition, state: unknown, now: number): unknown {
  const { parts, full } = transition;
  if (!isAhead(transition, state, now, MOST_AHEAD)) return state;
  if (parts === undefined) return full!(now);
  return parts.map((part, index) => bounded(part, (state as unknown[])[index], now));
}

/**
 * The transition of a formula.
 *
 * @param charges Whether a cost is charged where it would be taken.
 */
export function transitionBy(formula: Formula, charges: boolean): Transition {
  const [name, a, b, c, d, e] = formula as readonly [string, ...Five];
  if (name === "ticks" || name === "steps") {
    return transitionOf(arrivalArithmetic(wholeTicks(a, b), c, d), charges, e);
  }
  if (name === "counter") return transitionOf(counterArithmetic(a, b), charges);
  if (name === "window") return windowTransition(a, b, c, charges);
  if (name === "charge") return transitionBy(formula[1] as Formula, true);
  return allTransition(formula as readonly Formula[], charges);
}

function transitionOf<State>(
  arithmetic: Arithmetic<State>,
  charges: boolean,
  ahead: number = arithmetic.capacity || 1,
): Transition {
  const { capacity, mostUse = capacity, initial, accounting, codec } = arithmetic;
  const own = takeBy(accounting);
  const charge = chargeBy(mostUse - capacity, accounting);
  const transition: Transition<State> = {
    initial,
    take: (state, now, cost) =>
      charges && cost > 0 ? charge(state, now, cost) : own(state, now, cost),
    reset: accounting.reset,
    encode: codec.encode,
    decode: codec.decode,
    furthest: (now) => accounting.add(initial, now, ahead),
    full: (now) => accounting.add(initial, now, Math.min(capacity, ahead) || 1),
  };
  return transition as unknown as Transition;
}

/** Windows in a row, or opened by a call if the shift is below 0. */
function windowTransition(
  limit: number,
  period: number,
  shift: number,
  charges: boolean,
): Transition {
  const row = inRow(period, shift);
  const own = opened(period);
  const isOpened = shift < 0;
  const windows = {
    current: (now: number, place: number) =>
      isOpened ? own.current(now, place) : row.current(now, place),
    end: (place: number) => isOpened ? own.end(place) : row.end(place),
    last: isOpened ? own.last : row.last,
  };
  return transitionOf(windowArithmetic(limit, windows), charges);
}

function allTransition(formula: readonly Formula[], charges: boolean): Transition {
  const parts: Transition[] = [];
  for (let index = 1; index < formula.length; index++) {
    parts.push(transitionBy(formula[index]!, charges));
  }
  const initial = parts.map((part) => part.initial);
  const transition: Transition<readonly unknown[]> = {
    initial,
    parts,
    take: takeAll(parts.map((part) => part.take), initial, () => !charges),
    reset(states, now) {
      let longest = 0;
      for (let index = 0; index < parts.length; index++) {
        longest = Math.max(longest, parts[index]!.reset(states[index], now));
      }
      return longest;
    },
    encode: (states) => encodeAll(parts, states),
    decode: (text) => decodeAll(parts, initial, text),
  };
  return transition as unknown as Transition;
}
