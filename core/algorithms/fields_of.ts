import type { Algorithm } from "../algorithm.ts";

/** What every algorithm has, for one that is made of it: of an instance of a class, its methods too. */
export function fieldsOf(algorithm: Algorithm): Omit<Algorithm, "internals"> {
  const { name, id, policies, capacity, initial, step, charge, codec } = algorithm;
  return { name, id, policies, capacity, initial, step, charge, codec };
}
