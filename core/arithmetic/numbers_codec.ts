import type { Codec } from "../codec.ts";

/**
 * The codec of states that are so many numbers: a word for each; as text the version and the numbers,
 * of a fresh key the version alone.
 *
 * @param version What the text begins with.
 * @param initial The state of a fresh key.
 * @param isState Whether numbers are another state.
 */
export function numbersCodec<State extends readonly number[]>(
  version: string,
  initial: State,
  isState: (numbers: State) => boolean,
): Codec<State> {
  function stateOf(numbers: readonly number[]): State | undefined {
    if (numbers.length !== initial.length) return undefined;
    if (numbers.every((number, place) => number === initial[place])) return initial;
    return isState(numbers as State) ? numbers as State : undefined;
  }

  function encode(state: State): string {
    return state === initial ? version : [version, ...state].join(" ");
  }

  return {
    maxWords: initial.length,
    write(state, words, offset) {
      words.set(state, offset);
      return initial.length;
    },
    read: (words, offset, count) => stateOf(Array.from(words.subarray(offset, offset + count))),
    encode,
    decode(text) {
      if (text === version) return initial;
      const state = stateOf(text.slice(version.length + 1).split(" ").map(Number));
      return state !== undefined && encode(state) === text ? state : undefined;
    },
  };
}
