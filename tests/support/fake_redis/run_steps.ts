/*
 * The effect of one script call on its keys, by the arithmetic of the reducers. The fake server runs
 * it, and tests compare the script with it.
 */

import type { Formula } from "../../../core/algorithm.ts";
import { LEEWAY, LONGEST, MARGIN } from "../../../stores/stepping/cell.ts";
import { DIGITS, SET_INSTANT, TAKE, TAKE_ALL, ZERO } from "../../../stores/redis/script/words.ts";
import { MOST_AHEAD } from "../../../core/bounded_state.ts";
import { bounded, isAhead, type Transition, transitionBy } from "./transition.ts";

/** The text of a key; `false` if it has none, which is what Lua gets. */
export type Held = string | false;

/**
 * Writes what a key comes to hold.
 *
 * @param text The text; `undefined` to delete the key.
 * @param lifetime Milliseconds that it is to be kept; an empty text to leave its expiry as it is.
 */
export type Write = (key: number, text: string | undefined, lifetime: string) => void;

/** The numbers that `encodeCounts` was given. */
export function countsOf(letters: string): readonly number[] {
  const digits = [...letters].map((letter) => letter.charCodeAt(0) - ZERO);
  return Array.from(
    { length: digits.length / 2 },
    (_, at) => digits[at * 2]! * DIGITS + digits[at * 2 + 1]!,
  );
}

/** Takes the steps in their order. */
export function takeSteps(
  formulas: readonly Formula[],
  steps: readonly number[],
  count: number,
  texts: readonly Held[],
  now: number,
  write: Write,
  isBounded = false,
): void {
  const transitions = formulas.map((formula) => transitionBy(formula, false));
  // By key: its state once it was read, whose state it is once it was replaced, and how long it is to
  // be kept. Lists side by side, because an object for each key costs more than all the rest.
  const states: unknown[] = [];
  const owners: (Transition | undefined)[] = [];
  const lifetimes: (string | undefined)[] = [];
  const owes: boolean[] = [];
  let isOwn = isBounded;

  function current(key: number, transition: Transition): unknown {
    const text = texts[key]!;
    let state = states[key];
    if (state === undefined) {
      if (lifetimes[key] !== undefined || text === false) return transition.initial;
      state = stateOf(transition, text);
      if (state === undefined && text.endsWith(" +")) {
        state = stateOf(transition, text.slice(0, -2));
        owes[key] = state !== undefined;
      }
      if (state === undefined) return transition.initial;
      states[key] = state;
    }
    if (!isOwn || owes[key] === true || !isAhead(transition, state, now, MOST_AHEAD)) return state;
    states[key] = undefined;
    const bound = bounded(transition, state, now);
    put(key, transition, bound, now);
    return bound;
  }

  function put(key: number, transition: Transition, state: unknown, instant: number): void {
    const before = lifetimes[key] === undefined ? states[key] : undefined;
    lifetimes[key] = lifetimeOf(transition, before, state, instant);
    states[key] = state;
    owners[key] = transition;
    owes[key] = isOwn && isAhead(transition, state, instant, MOST_AHEAD);
  }

  function take(at: number, instant: number): void {
    const key = steps[at]!;
    const transition = transitions[steps[at + 1]!]!;
    const held = current(key, transition);
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
    for (let index = at; index < end; index += 4) {
      const transition = transitions[steps[index + 1]!]!;
      const held = current(steps[index]!, transition);
      const next = transition.take(held, instant, steps[index + 2]!);
      if (next === held && steps[index + 2]! > 0) return;
      taken.push(next);
    }
    for (let index = at; index < end; index += 4) {
      const transition = transitions[steps[index + 1]!]!;
      const next = taken[(index - at) / 4];
      const isChanged = next !== current(steps[index]!, transition);
      if (isChanged && steps[index + 3] === 0) put(steps[index]!, transition, next, instant);
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
      isOwn = isBounded && steps[at + 1]! < 0;
      at += 2;
    } else {
      const key = steps[at + 1]!;
      states[key] = undefined;
      owners[key] = undefined;
      owes[key] = false;
      lifetimes[key] = "";
      at += 2;
    }
  }

  for (let key = 0; key < count; key++) {
    const lifetime = lifetimes[key];
    if (lifetime !== undefined) {
      const own = textOf(owners[key], states[key]);
      const text = own !== undefined && owes[key] === true ? `${own} +` : own;
      if (text !== texts[key]) write(key, text, lifetime);
    }
  }
}

/** The state of a text; `undefined` if there is no text, or if it is not a state. */
function stateOf(transition: Transition, text: Held): unknown {
  if (text === false) return undefined;
  return transition.decode(text);
}

/**
 * How long a new state is to be kept; an empty text if it expires when the one before it does. The
 * instant at which a state is fresh is its own, so all that are fresh within the same `LEEWAY` expire
 * at the same instant, and nobody need know what was set before.
 */
function lifetimeOf(
  transition: Transition,
  before: unknown,
  state: unknown,
  instant: number,
): string {
  const end = Math.floor(transition.reset(state, 0) / LEEWAY);
  const was = before === undefined ? -1 : Math.floor(transition.reset(before, 0) / LEEWAY);
  if (was === end) return "";
  return `${Math.min((end + 1) * LEEWAY - instant, LONGEST) + MARGIN}`;
}

/** The new text of a key; `undefined` for none. */
function textOf(transition: Transition | undefined, state: unknown): string | undefined {
  if (transition === undefined || state === transition.initial) return undefined;
  return transition.encode(state);
}
