import type { Algorithm } from "../algorithm.ts";

/** The algorithms inside combinators, in order; of any other algorithm itself alone. */
export function leavesOf(algorithm: Algorithm): readonly Algorithm[] {
  return algorithm.internals?.leaves ?? [algorithm];
}
