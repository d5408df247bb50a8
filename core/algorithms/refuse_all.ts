/*
 * A limit of 0, which configurations use to switch a client off: nothing is ever admitted, so
 * nothing is ever kept. Every factory then makes the same algorithm, because there is no rate to
 * count by.
 */

import type { Algorithm } from "../algorithm.ts";
import { wordsCodec } from "../arithmetic/numbers_codec.ts";
import { byPlace } from "../arithmetic/returns.ts";
import type { Rate } from "../options/rate_options.ts";
import { type Accounting, buildAlgorithm, type Parts } from "./build_algorithm.ts";

/**
 * Builds the algorithm that refuses every cost above 0, with a `retryAfter` of `Infinity`. A charge
 * takes nothing, because without a capacity a debt could never drain.
 *
 * @param initial The only state that a key has.
 */
export function refuseAll<State>(
  rate: Rate,
  id: Parts<State>["id"],
  initial: State,
): Algorithm<State> {
  const fresh = () => initial;
  const zero = () => 0;
  const returns = byPlace<State>({ newest: zero, held: zero, without: fresh });
  const accounting: Accounting<State> = {
    add: fresh,
    giveBack: fresh,
    free: zero,
    reset: zero,
    returns,
  };
  const codec = wordsCodec<State>(
    1,
    () => [0],
    (word) => word === 0 ? initial : undefined,
    () => "n1",
    (text) => text === "n1" ? initial : undefined,
  );
  return buildAlgorithm({ ...rate, id, capacity: 0, initial, accounting, codec });
}
