/*
 * State transitions by their formulas. This file, run_program.ts and what they use of core are
 * compiled to Lua (`npm run lua`), so they keep to what .ci/lua.mjs understands.
 */

import type { Formula, Halves } from "../../../core/algorithm.ts";
import { decodeAll, encodeAll, takeAll } from "../../../core/algorithms/all.ts";
import {
  fineArithmetic,
  ticksArithmetic,
} from "../../../core/algorithms/arrival_time_algorithm.ts";
import { type Arithmetic, takeBy } from "../../../core/algorithms/build_algorithm.ts";
import { windowArithmetic } from "../../../core/algorithms/fixed_window.ts";
import { counterArithmetic } from "../../../core/algorithms/sliding_counter.ts";
import { wholeArrivalTime } from "../../../core/arithmetic/whole_arrival_time.ts";
import type { Codec } from "../../../core/codec.ts";

/** What it takes to replace a state: no decision is made of it. */
export interface Transition<State = unknown> {
  readonly initial: State;
  readonly take: Halves<State>["take"];
  /** Milliseconds until the state is fresh. */
  readonly reset: (state: State, now: number) => number;
  readonly codec: Pick<Codec<State>, "encode" | "decode">;
}

/** The transition of a formula. */
export function transitionBy(formula: Formula): Transition {
  const [name, a, b, c, d] = formula as readonly [string, number, number, number, number];
  if (name === "ticks") return ticksTransition(a, b, c, d);
  if (name === "fine") return fineTransition(a, b, c);
  if (name === "window") return windowTransition(a, b, c);
  if (name === "counter") return counterTransition(a, b);
  return allTransition(formula as readonly Formula[]);
}

// One function each, as what only one of them uses is made when it is called: see .ci/lua.mjs.

function ticksTransition(
  perStep: number,
  step: number,
  interval: number,
  burst: number,
): Transition {
  const arithmetic = ticksArithmetic(perStep, step, interval, burst);
  const transition = transitionOf(arithmetic);
  if (step !== 1) return transition;
  const { take } = wholeArrivalTime(1, perStep, interval, burst, arithmetic.mostUse, false);
  const { initial, reset, codec } = transition;
  return { initial, take: take as Transition["take"], reset, codec };
}

function fineTransition(perMillisecond: number, interval: number, burst: number): Transition {
  return transitionOf(fineArithmetic(perMillisecond, interval, burst));
}

function windowTransition(limit: number, period: number, shift: number): Transition {
  return transitionOf(windowArithmetic(limit, period, shift));
}

function counterTransition(limit: number, period: number): Transition {
  return transitionOf(counterArithmetic(limit, period));
}

function transitionOf<State>(
  { initial, questions, codec }: Arithmetic<State>,
): Transition {
  const transition = { initial, take: takeBy(questions), reset: questions.reset, codec };
  return transition as unknown as Transition;
}

function allTransition(formula: readonly Formula[]): Transition {
  const parts: Transition[] = [];
  for (let place = 1; place < formula.length; place++) parts.push(transitionBy(formula[place]!));
  const initial = parts.map((part) => part.initial);
  const codecs = parts.map((part) => part.codec);
  const resets = parts.map((part) => part.reset);
  const transition: Transition<readonly unknown[]> = {
    initial,
    take: takeAll(parts.map((part) => part.take), () => true, initial),
    reset(states, now) {
      let longest = 0;
      for (let place = 0; place < resets.length; place++) {
        longest = Math.max(longest, resets[place]!(states[place], now));
      }
      return longest;
    },
    codec: {
      encode: (states) => encodeAll(codecs, states),
      decode: (text) => decodeAll(codecs, initial, text),
    },
  };
  return transition as unknown as Transition;
}
