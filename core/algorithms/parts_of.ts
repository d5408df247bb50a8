import type { Algorithm } from "../algorithm.ts";

/** The parts of an `all`, also inside other combinators; `undefined` for any other algorithm. */
export function partsOf({ internals }: Algorithm): readonly Algorithm[] | undefined {
  const { wraps, parts } = internals ?? {};
  return wraps === undefined ? parts : partsOf(wraps.inner);
}
