/*
 * The limiters that an adapter makes itself, of an algorithm that its options name or choose.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { gcra } from "../../../core/algorithms/gcra.ts";
import { slidingCounter } from "../../../core/algorithms/sliding_counter.ts";
import type { Clock } from "../../../core/clock.ts";
import { checkLimiter, checkPrefix } from "../../../core/limiter/check_limiter.ts";
import { limiterOn } from "../../../core/limiter/limiter.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { warnOfProcesses } from "../../../stores/memory/warn_of_processes.ts";
import type { AnyLimiter, KeptUse, LimitByNumbers } from "./limit_options.ts";

/** The options that all limiters of a maker share. */
export interface MakerOptions extends KeptUse {
  readonly clock?: Clock | undefined;
}

/**
 * Makes the function that makes limiters, all on one store and under one prefix.
 *
 * @param ownPrefix The prefix in a store of its own.
 * @throws {TypeError} If there is a store without a prefix.
 */
export function limiterMaker(
  { store: given, prefix, clock, replaces }: MakerOptions,
  ownPrefix: string,
): (algorithm: Algorithm) => AnyLimiter {
  const store = given ?? memoryStore();
  const used = prefix ?? (given === undefined ? ownPrefix : undefined);
  checkPrefix(used);
  warnOfProcesses(store);
  return function makeLimiter(algorithm) {
    checkLimiter(algorithm, { replaces });
    return limiterOn(algorithm, store, used, { clock, replaces });
  };
}

/**
 * The limiter of a limit that is given by its numbers.
 *
 * @throws {TypeError} If a number is missing, or there is a store without a prefix.
 * @throws {RangeError} If a number is out of range.
 */
export function limiterByNumbers(
  { limit, period, burst, ...others }: LimitByNumbers & MakerOptions,
): AnyLimiter {
  const algorithm = burst === undefined
    ? slidingCounter({ limit, period })
    : gcra({ limit, period, burst });
  return limiterMaker(others, "own")(algorithm);
}
