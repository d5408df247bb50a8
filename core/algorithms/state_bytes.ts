/*
 * How many bytes a state takes in the memory of an engine, beside the object that holds it in a store.
 * Engines do not say, so these are averages of what V8 was seen to take.
 */

import type { Algorithm } from "../algorithm.ts";

/** How many bytes the states of an algorithm take. */
export type StateBytes = number | ((state: unknown) => number);

/** An object, and a number in it that does not fit 31 bits. */
const OBJECT_BYTES = 24;
const NUMBER_BYTES = 20;
/** States of at most so many words are counted as if they always took them all. */
const FEW_WORDS = 16;

/** How many bytes the states of an algorithm take: a number if they all take about the same. */
export function stateBytes({ codec, internals }: Algorithm): StateBytes {
  if (internals?.bytes !== undefined) return internals.bytes;
  if (internals?.parts !== undefined) return bytesOfParts(internals.parts);
  const { maxWords } = codec;
  if (maxWords === 1) return NUMBER_BYTES;
  if (maxWords <= FEW_WORDS) return OBJECT_BYTES + NUMBER_BYTES * maxWords;
  const words = new Float64Array(maxWords);
  return (state) => {
    try {
      return OBJECT_BYTES + NUMBER_BYTES * codec.write(state, words, 0);
    } catch {
      // For a codec that is not ours, the most that it may take.
      return OBJECT_BYTES + NUMBER_BYTES * maxWords;
    }
  };
}

/** An array of states. */
const TUPLE_BYTES = 140;

/** How many bytes the states of the parts of `all` take together. */
function bytesOfParts(parts: readonly Algorithm[]): StateBytes {
  let fixed = TUPLE_BYTES + 8 * parts.length;
  const varied: (readonly [index: number, bytes: (state: unknown) => number])[] = [];
  parts.map(stateBytes).forEach((bytes, index) => {
    if (typeof bytes === "number") fixed += bytes;
    else varied.push([index, bytes]);
  });
  if (varied.length === 0) return fixed;
  return (state) => {
    const states = state as readonly unknown[];
    let sum = fixed;
    for (const [index, bytes] of varied) sum += bytes(states[index]);
    return sum;
  };
}
