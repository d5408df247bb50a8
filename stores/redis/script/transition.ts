/*
 * State transitions by their formulas. This file, run_steps.ts and what they use of core are
 * compiled to Lua (`npm run lua`), so they keep to what .ci/lua.mjs understands.
 */

import type { Formula, SplitReducer } from "../../../core/algorithm.ts";
import { decodeAll, encodeAll, takeAll } from "../../../core/algorithms/all.ts";
import { arrivalArithmetic } from "../../../core/algorithms/arrival_time_algorithm.ts";
import {
  type Arithmetic,
  chargeBy,
  chargeOr,
  takeBy,
} from "../../../core/algorithms/build_algorithm.ts";
import { inRow, opened, windowArithmetic } from "../../../core/algorithms/fixed_window.ts";
import { counterArithmetic } from "../../../core/algorithms/sliding_counter.ts";
import { fineTicks, wholeTicks } from "../../../core/arithmetic/ticks.ts";
import { wholeTake } from "../../../core/arithmetic/whole_arrival_time.ts";
import { wideUse } from "../../../core/arithmetic/window_use.ts";
import type { Codec } from "../../../core/codec.ts";

/** What it takes to replace a state: no decision is made of it. */
export interface Transition<State = unknown> {
  readonly initial: State;
  readonly take: SplitReducer<State>["take"];
  /** Charges a cost above 0. */
  readonly charge: SplitReducer<State>["charge"];
  /** Milliseconds until the state is fresh. */
  readonly reset: (state: State, now: number) => number;
  readonly encode: Codec<State>["encode"];
  readonly decode: Codec<State>["decode"];
}

/** The transition of a formula. */
export function transitionBy(formula: Formula): Transition {
  const [name, a, b, c, d] = formula as readonly [string, number, number, number, number];
  if (name === "ticks" || name === "steps") {
    return transitionOf(arrivalArithmetic(wholeTicks(a, b), c, d));
  }
  if (name === "fine") return transitionOf(arrivalArithmetic(fineTicks(a), b, c));
  if (name === "counter") return transitionOf(counterArithmetic(a, b));
  if (name === "window") return windowTransition(a, b, c, d);
  if (name === "charge") return chargingTransition(transitionBy(formula[1] as Formula));
  return allTransition(formula as readonly Formula[]);
}

function transitionOf<State>(arithmetic: Arithmetic<State>): Transition {
  const { capacity, mostUse = capacity, initial, accounting, codec } = arithmetic;
  const take = takeBy(accounting);
  const charge = chargeBy(mostUse - capacity, accounting);
  const { encode, decode } = codec;
  const transition = { initial, take, charge, reset: accounting.reset, encode, decode };
  return transition as unknown as Transition;
}

/** One that charges where the other one takes. */
function chargingTransition(inner: Transition): Transition {
  const { initial, take, charge, reset, encode, decode } = inner;
  return { initial, take: chargeOr(take, charge), charge, reset, encode, decode };
}

/** The commonest one, by the reducer that is written out for it. */
export function wholeTransition(
  perMillisecond: number,
  interval: number,
  burst: number,
): Transition {
  const arithmetic = arrivalArithmetic(wholeTicks(perMillisecond), interval, burst);
  const { initial, charge, reset, encode, decode } = transitionOf(arithmetic);
  const take = wholeTake(perMillisecond, interval, burst, arithmetic.mostUse);
  return { initial, take: take as Transition["take"], charge, reset, encode, decode };
}

/**
 * Windows in a row, or opened by a call if the shift is below 0. Their use is two numbers here, of
 * which both forms make the same text.
 */
function windowTransition(limit: number, period: number, shift: number, most: number): Transition {
  const row = inRow(period, shift);
  const own = opened(period);
  const isOpened = shift < 0;
  const windows = {
    current: (now: number, place: number) =>
      isOpened ? own.current(now, place) : row.current(now, place),
    end: (place: number) => isOpened ? own.end(place) : row.end(place),
    last: isOpened ? own.last : row.last,
  };
  return transitionOf(windowArithmetic(limit, windows, wideUse(limit, windows.last, most)));
}

function allTransition(formula: readonly Formula[]): Transition {
  const parts: Transition[] = [];
  for (let place = 1; place < formula.length; place++) parts.push(transitionBy(formula[place]!));
  const initial = parts.map((part) => part.initial);
  const transition: Transition<readonly unknown[]> = {
    initial,
    take: takeAll(parts.map((part) => part.take), initial, () => true),
    charge: takeAll(parts.map((part) => part.charge), initial, () => false),
    reset(states, now) {
      let longest = 0;
      for (let place = 0; place < parts.length; place++) {
        longest = Math.max(longest, parts[place]!.reset(states[place], now));
      }
      return longest;
    },
    encode: (states) => encodeAll(parts, states),
    decode: (text) => decodeAll(parts, initial, text),
  };
  return transition as unknown as Transition;
}
