/**
 * How a state is kept outside of the reducer: as float64 words in a slot of shared memory, and as
 * short text in Redis.
 *
 * A state that a step returned reads as it was written. The text is versioned (it starts
 * with a letter and a version number), canonical (two texts of one state are the same text) and
 * short enough to be read in redis-cli. It must not begin with NUL, nor contain U+FFFD. Words or
 * text of an unknown shape read as `undefined`, which a store treats as a fresh key.
 *
 * @typeParam State The memory of a key.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const { step, initial, codec } = gcra({ limit: 10, period: "1s", burst: 10 });
 * const [, state] = step(initial, 1_700_000_000_000, 1);
 * assert.equal(codec.encode(state), "t1 1700000000100");
 * assert.equal(codec.decode("t1 1700000000100"), state);
 * assert.equal(codec.decode("something else"), undefined);
 * ```
 */
export interface Codec<State> {
  /** The most words that a state takes: at least 1. */
  readonly maxWords: number;
  /** Writes the state at `offset` and returns how many words it took: 1 to `maxWords`. */
  write(state: State, words: Float64Array, offset: number): number;
  /** Reads `count` words at `offset`; `undefined` if they are not a state of this algorithm. */
  read(words: Float64Array, offset: number, count: number): State | undefined;
  /** The state as canonical text. */
  encode(state: State): string;
  /** The state of a canonical text; `undefined` if the text is not a state of this algorithm. */
  decode(text: string): State | undefined;
}
