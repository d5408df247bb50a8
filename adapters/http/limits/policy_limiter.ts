/*
 * Limits that depend on the caller: the option `policy` chooses an algorithm for each request, and
 * all algorithms share one store and one prefix. A limiter is made once for each algorithm. The
 * store keeps a key's use under the algorithm's id, so nothing is lost when a limiter is forgotten
 * here.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { sizesOf } from "../../../core/algorithms/sizes_of.ts";
import { setBounded } from "../../../core/bounded_map.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import type { AnyLimiter, Awaitable, LimitByPolicy } from "./limit_options.ts";
import { limiterMaker, type MakerOptions } from "./limiter_maker.ts";

/** The most limiters that are kept. */
const MAX_LIMITERS = 1_000;

/**
 * Makes the function that chooses a request's limiter by the option `policy`. Whatever is no
 * algorithm is returned as it is.
 *
 * @throws {TypeError} If there is a store without a prefix.
 */
export function policyLimiter(
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
