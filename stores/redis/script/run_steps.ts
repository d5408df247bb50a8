/*
 * What the server does with the keys of one script call, as a pure function: it takes every step over
 * the texts that the keys hold, in their order, and writes what comes of them.
 *
 * Steps are numbers, each a word that says what to do and what it needs:
 *
 * | word | then | what it does |
 * |---|---|---|
 * | TAKE | key, formula, cost, times | takes the cost so many times, until it is refused |
 * | FORGET | key | forgets the key |
 * | SET_INSTANT | instant | what follows is decided at that instant; below 0, at the call's own |
 * | TAKE_ALL | count, then each key, formula, cost, dry | takes all costs or none |
 *
 * Keys and formulas are places in their lists, counted from 0.
 */

import type { Formula } from "../../../core/algorithm.ts";
import { type Transition, transitionBy } from "./transition.ts";

export const TAKE = 0;
export const FORGET = 1;
export const SET_INSTANT = 2;
export const TAKE_ALL = 3;

/** Milliseconds by which a value outlives its use: more than clocks differ and processes stall. */
export const MARGIN = 5_000;
/**
 * It may be kept for so many milliseconds more: by cas and watch its expiry is left as it is while in
 * this range, as to set it anew costs the server as much as to write the value.
 */
export const LEEWAY = 3_000;
/** The most milliseconds that a value is kept: 139 years, and a server can add its clock to it. */
export const LONGEST: number = 2 ** 42;

/**
 * Writes what a key comes to hold.
 *
 * @param text The text; `undefined` to delete the key.
 * @param lifetime Milliseconds that it is to be kept.
 */
export type Write = (key: number, text: string | undefined, lifetime: string) => void;

/** Takes the steps over the texts of so many keys. */
export function runSteps(
  formulas: readonly Formula[],
  steps: readonly number[],
  count: number,
  texts: readonly (string | undefined)[],
  now: number,
  write: Write,
): void {
  const transitions = formulas.map(transitionBy);
  // By key: its state once it was read, whose state it is once it was replaced, and how long until
  // it is fresh. Lists side by side, as an object for each key costs more than all the rest.
  const states: unknown[] = [];
  const owners: (Transition | undefined)[] = [];
  const resets: (number | undefined)[] = [];

  function stateOf(key: number, transition: Transition): unknown {
    const known = states[key];
    if (known !== undefined) return known;
    const text = texts[key];
    if (text === undefined || resets[key] !== undefined) return transition.initial;
    const state = transition.decode(text);
    if (state === undefined) return transition.initial;
    states[key] = state;
    return state;
  }

  function put(key: number, transition: Transition, state: unknown, instant: number): void {
    states[key] = state;
    owners[key] = transition;
    resets[key] = transition.reset(state, instant);
  }

  function take(at: number, instant: number): void {
    const key = steps[at]!;
    const transition = transitions[steps[at + 1]!]!;
    const held = stateOf(key, transition);
    let state = held;
    for (let turn = 0; turn < steps[at + 3]!; turn++) {
      const next = transition.take(state, instant, steps[at + 2]!);
      if (next === state) break;
      state = next;
    }
    if (state !== held) put(key, transition, state, instant);
  }

  function takeEach(at: number, end: number, instant: number): void {
    const taken: unknown[] = [];
    for (let place = at; place < end; place += 4) {
      const transition = transitions[steps[place + 1]!]!;
      const held = stateOf(steps[place]!, transition);
      const next = transition.take(held, instant, steps[place + 2]!);
      if (next === held && steps[place + 2]! > 0) return;
      taken.push(next);
    }
    for (let place = at; place < end; place += 4) {
      const transition = transitions[steps[place + 1]!]!;
      const next = taken[(place - at) / 4];
      const isChanged = next !== stateOf(steps[place]!, transition);
      if (isChanged && steps[place + 3] === 0) put(steps[place]!, transition, next, instant);
    }
  }

  let instant = now;
  let at = 0;
  while (at < steps.length) {
    const word = steps[at];
    if (word === TAKE) {
      take(at + 1, instant);
      at += 5;
    } else if (word === TAKE_ALL) {
      const end = at + 2 + steps[at + 1]! * 4;
      takeEach(at + 2, end, instant);
      at = end;
    } else if (word === SET_INSTANT) {
      instant = steps[at + 1]! < 0 ? now : steps[at + 1]!;
      at += 2;
    } else {
      const key = steps[at + 1]!;
      states[key] = undefined;
      owners[key] = undefined;
      resets[key] = 0;
      at += 2;
    }
  }

  for (let key = 0; key < count; key++) {
    const reset = resets[key];
    if (reset !== undefined) {
      const text = textOf(owners[key], states[key]);
      const lifetime = Math.ceil(Math.min(reset, LONGEST) + MARGIN + LEEWAY);
      if (text !== texts[key]) write(key, text, `${lifetime}`);
    }
  }
}

/** The text that a key comes to hold; `undefined` for none. */
function textOf(transition: Transition | undefined, state: unknown): string | undefined {
  if (transition === undefined || state === transition.initial) return undefined;
  return transition.encode(state);
}
