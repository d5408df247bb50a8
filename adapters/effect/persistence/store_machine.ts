/*
 * Any state machine on any store.
 *
 * A store does one thing: it replaces a key's state by a pure function of it. An algorithm is such a
 * function with an answer of a fixed form. Here the function is made for one call, and reports its
 * own answer on the side; the decision that the store hands back is only how long the state must be
 * kept. After a lost race the store calls again, and the last answer is the one that was committed.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import type { Codec } from "../../../core/codec.ts";
import type { Decision } from "../../../core/decision.ts";
import { storedKeyIn } from "../../../core/limiter/prepare_call.ts";
import { makeDecision } from "../../../core/make_decision.ts";
import type { Store } from "../../../core/store.ts";

/** What a call makes of a state: its answer, the state after it, and how long that must be kept. */
export interface Turn<Answer, State> {
  readonly answer: Answer;
  /** The same state if nothing changes; `initial` if it equals a fresh one. */
  readonly state: State;
  /** Milliseconds until the state equals a fresh one. */
  readonly freshAfter: number;
}

/** How the states of a machine are kept. */
export interface Machine<State> {
  /** Names the machine in stored keys. */
  readonly id: string;
  /** The state of a key never used. */
  readonly initial: State;
  readonly codec: Codec<State>;
}

/** Replaces a key's state by what the turn makes of it, atomically, and returns its answer. */
export type Stepper<State> = <Answer>(
  key: string,
  turn: (state: State, now: number) => Turn<Answer, State>,
  now: number | undefined,
) => MaybePromise<Answer>;

/**
 * Puts a machine on a store.
 *
 * @throws {RangeError} If the store cannot hold its states.
 */
export function machineOn<State>(
  store: Store,
  prefix: string,
  machine: Machine<State>,
): Stepper<State> {
  store.accepts(stepping(machine, (state) => [kept(0), state]));
  return function step<Answer>(
    key: string,
    turn: (state: State, now: number) => Turn<Answer, State>,
    now: number | undefined,
  ): MaybePromise<Answer> {
    let last: Answer;
    // It admits everything. A look is not a turn: it leaves the state alone.
    const algorithm = stepping(machine, (state, at, cost) => {
      if (cost === 0) return [kept(0), state];
      const taken = turn(state, at);
      last = taken.answer;
      return [kept(Math.max(0, Math.ceil(taken.freshAfter))), taken.state];
    });
    const stored = storedKeyIn(store, prefix, machine.id, key);
    const ran = store.run([{ key: stored, algorithm, cost: 1, dry: false }], now);
    return andThen<readonly Decision[], Answer>(ran, () => last);
  };
}

/** A machine with a reducer, as an algorithm. */
function stepping<State>(machine: Machine<State>, step: Algorithm<State>["step"]): Algorithm {
  const { id } = machine;
  const algorithm = { ...machine, name: id, policies: [], capacity: 1, step, charge: step };
  return algorithm as unknown as Algorithm;
}

function kept(resetAfter: number): Decision {
  return makeDecision(true, 1, 1, 0, 0, resetAfter, 0, 0, undefined, undefined);
}

/**
 * The codec of flat objects of numbers: one word for each field, in order; as text the version and
 * the numbers.
 */
export function fieldsCodec<State extends object>(
  version: string,
  initial: State,
  fields: readonly (keyof State & string)[],
): Codec<State> {
  const numbersOf = (state: State) => fields.map((field) => state[field] as number);
  const fresh = numbersOf(initial);

  function stateOf(values: readonly number[]): State | undefined {
    if (values.length !== fields.length || values.some(Number.isNaN)) return undefined;
    if (values.every((value, place) => value === fresh[place])) return initial;
    return Object.fromEntries(fields.map((field, place) => [field, values[place]])) as State;
  }

  return {
    maxWords: fields.length,
    write(state, words, offset) {
      words.set(numbersOf(state), offset);
      return fields.length;
    },
    read: (words, offset, count) => stateOf([...words.subarray(offset, offset + count)]),
    encode: (state) => [version, ...numbersOf(state)].join(" "),
    decode(text) {
      const [head, ...numbers] = text.split(" ");
      const plain = numbers.every((number) => /^-?\d+(\.\d+)?(e[+-]\d+)?$/.test(number));
      return head === version && plain ? stateOf(numbers.map(Number)) : undefined;
    },
  };
}
