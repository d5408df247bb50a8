/*
 * The limiters that an adapter makes itself, of an algorithm that its options name or choose.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { gcra } from "../../../core/algorithms/gcra.ts";
import { holdsPermits } from "../../../core/algorithms/holds_permits.ts";
import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import { reservable } from "../../../core/algorithms/reservable.ts";
import { slidingCounter } from "../../../core/algorithms/sliding_counter.ts";
import { sizesOf } from "../../../core/algorithms/sizes_of.ts";
import { setBounded } from "../../../core/bounded_map.ts";
import type { Clock } from "../../../core/clock.ts";
import { checkLimiter, checkPrefix } from "../../../core/limiter/check_limiter.ts";
import { limiterOn } from "../../../core/limiter/limiter.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { warnOfProcesses } from "../../../stores/memory/warn_of_processes.ts";
import type {
  AnyLimiter,
  Awaitable,
  KeptUse,
  LimitByNumbers,
  LimitByPolicy,
} from "./limit_options.ts";

/** The options that all limiters of a maker share. */
interface MakerOptions extends KeptUse {
  readonly clock?: Clock | undefined;
  /** Whether requests may get their units back. Rates then keep receipts. */
  readonly refunds?: boolean | undefined;
}

/**
 * How long the receipt of a request stays open. Nobody settles the receipts of requests that keep
 * their units, so a longer time would only leave more of them in each key.
 */
const WITHIN = "1m";

/**
 * Makes the function that makes limiters, all on one store and under one prefix.
 *
 * @param ownPrefix The prefix in a store of its own.
 * @throws {TypeError} If there is a store without a prefix.
 */
function limiterMaker(
  { store: given, prefix, clock, replaces, refunds = false }: MakerOptions,
  ownPrefix: string,
): (algorithm: Algorithm) => AnyLimiter {
  const store = given ?? memoryStore();
  const used = prefix ?? (given === undefined ? ownPrefix : undefined);
  checkPrefix(used);
  warnOfProcesses(store);
  return function makeLimiter(chosen) {
    const algorithm = refunds ? withReceipts(chosen) : chosen;
    checkLimiter(algorithm, { replaces });
    return limiterOn(algorithm, store, used, { clock, replaces });
  };
}

/**
 * A rate that gives back exactly what a request took. Others are exact without receipts, and the
 * places in a queue go back in no other order.
 */
function withReceipts(algorithm: Algorithm): Algorithm {
  const isRate = (algorithm.internals?.returns?.ticks.length ?? 0) > 0;
  return isRate && !mayDelay(algorithm) && !holdsPermits(algorithm)
    ? reservable(algorithm, { within: WITHIN })
    : algorithm;
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

/** The most limiters that are kept. */
const MAX_LIMITERS = 1_000;

/**
 * Makes the function that chooses a request's limiter by the option `policy`. All algorithms share one
 * store and one prefix. A limiter is made once for each of them. The store keeps a key's use under the
 * algorithm's id, so nothing is lost when a limiter is forgotten here. Whatever is no algorithm is
 * returned as it is.
 *
 * @throws {TypeError} If there is a store without a prefix.
 */
export function limiterByPolicy(
  { policy, ...others }: LimitByPolicy<unknown, unknown> & MakerOptions,
): (request: unknown, info: unknown) => Awaitable<AnyLimiter | "unlimited"> {
  const limiterOf = limiterMaker(others, "policy");
  const limiters = new Map<string, AnyLimiter>();

  function knownLimiter(algorithm: Algorithm | "unlimited"): AnyLimiter | "unlimited" {
    if (typeof (algorithm as Algorithm | undefined)?.step !== "function") {
      return algorithm as "unlimited";
    }
    const { id, name } = algorithm as Algorithm;
    // Neither the name nor the sizes are part of the id.
    const key = [id, sizesOf(algorithm as Algorithm), name].join("\0");
    let known = limiters.get(key);
    if (known === undefined) {
      known = limiterOf(algorithm as Algorithm);
      setBounded(limiters, key, known, MAX_LIMITERS);
    }
    return known;
  }

  return function choose(request, info) {
    const chosen = policy(request, info);
    return isPromise(chosen) ? chosen.then(knownLimiter) : knownLimiter(chosen);
  };
}
