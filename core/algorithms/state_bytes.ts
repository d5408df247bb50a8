/*
 * How many bytes a state takes in the memory of an engine, without the object that holds it in a
 * store. Engines do not report sizes, so these are averages measured on V8.
 */

import type { Algorithm } from "../algorithm.ts";

/** How many bytes the states of an algorithm take. */
export type StateBytes = number | ((state: unknown) => number);

/** The bytes of an object, and of a number in it that does not fit 31 bits. */
const OBJECT_BYTES = 24;
const NUMBER_BYTES = 20;
/** States of at most so many words are counted as if they always took them all. */
const FEW_WORDS = 16;
/** Words that are read to count them; writing past the end of an array does nothing. */
const ROOM = 1_024;

/** How many bytes the states of an algorithm take: a number if they all take about the same. */
export function stateBytes({ codec, internals }: Algorithm): StateBytes {
  if (internals?.bytes !== undefined) return internals.bytes;
  if (internals?.parts !== undefined) return bytesOfParts(internals.parts);
  const { maxWords } = codec;
  if (maxWords === 1) return NUMBER_BYTES;
  if (maxWords <= FEW_WORDS) return OBJECT_BYTES + NUMBER_BYTES * maxWords;
  const words = new Float64Array(Math.min(maxWords, ROOM));
  return (state) => {
    try {
      return OBJECT_BYTES + NUMBER_BYTES * codec.write(state, words, 0);
    } catch {
      // A codec that is not ours counts with the most words that it may take.
      return OBJECT_BYTES + NUMBER_BYTES * maxWords;
    }
  };
}

/** The bytes of an array of states. */
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
