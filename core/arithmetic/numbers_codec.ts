/*
 * Codecs for states of up to three numbers, which nearly all algorithms have: each such algorithm
 * states only which values are valid, and how its text reads.
 */

import type { Codec } from "../codec.ts";

/**
 * The codec of states that consist of up to three numbers. It writes one word for each number; the
 * caller supplies the text functions.
 *
 * @param maxWords How many numbers make up a state.
 * @param numbersOf The numbers of a state.
 * @param stateOf The state made of numbers; `undefined` if no step can have produced it.
 */
export function wordsCodec<State>(
  maxWords: number,
  numbersOf: (state: State) => readonly number[],
  stateOf: (one: number, two: number, three: number) => State | undefined,
  encode: Codec<State>["encode"],
  decode: Codec<State>["decode"],
): Codec<State> {
  return {
    maxWords,
    write(state, words, offset) {
      const numbers = numbersOf(state);
      for (let index = 0; index < maxWords; index++) words[offset + index] = numbers[index]!;
      return maxWords;
    },
    read: (words, offset, count) =>
      count === maxWords
        ? stateOf(words[offset]!, words[offset + 1]!, words[offset + 2]!)
        : undefined,
    encode,
    decode,
  };
}

/**
 * The codec of states that are lists of up to three numbers. The text is the version and the
 * numbers, or the version alone for a fresh key.
 *
 * @param version The beginning of the text.
 * @param initial The state of a fresh key.
 * @param isState Whether numbers are the state of a used key.
 */
export function numbersCodec<State extends readonly number[]>(
  version: string,
  initial: State,
  isState: (numbers: State) => boolean,
): Codec<State> {
  function stateOf(...numbers: readonly number[]): State | undefined {
    const state = numbers.slice(0, initial.length) as readonly number[] as State;
    if (state.every((number, index) => number === initial[index])) return initial;
    return isState(state) ? state : undefined;
  }

  function encode(state: State): string {
    return state === initial ? version : [version, ...state].join(" ");
  }

  return wordsCodec(initial.length, (state) => state, stateOf, encode, (text) => {
    if (text === version) return initial;
    const numbers = text.slice(version.length + 1).split(" ").map(Number);
    const state = numbers.length === initial.length ? stateOf(...numbers) : undefined;
    return state !== undefined && encode(state) === text ? state : undefined;
  });
}
