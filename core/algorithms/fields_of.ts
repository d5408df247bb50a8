/*
 * Copies the public fields of an algorithm, for algorithms that wrap it. An algorithm may be an
 * instance of a class, and a spread would lose the methods of its prototype.
 */

import type { Algorithm } from "../algorithm.ts";

/**
 * The fields of every algorithm, without `internals`, because the internals of an algorithm do not
 * hold for its wrapper.
 */
export function fieldsOf(algorithm: Algorithm): Omit<Algorithm, "internals"> {
  const { name, id, policies, capacity, initial, step, charge, codec } = algorithm;
  return { name, id, policies, capacity, initial, step, charge, codec };
}
