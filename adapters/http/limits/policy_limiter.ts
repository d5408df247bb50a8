/*
 * Limits that depend on the caller: the option `policy` chooses an algorithm for each request, and
 * all algorithms share one store and one prefix. A limiter is made once for each algorithm. The
 * store keeps a key's use under the algorithm's id, so nothing is lost when a limiter is forgotten
 * here.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { setBounded } from "../../../core/bounded_map.ts";
import { checkLimiter, checkPrefix } from "../../../core/limiter/check_limiter.ts";
import { limiterOn } from "../../../core/limiter/limiter.ts";
import { andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import { typeError } from "../../../core/options/checks.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { warnOfProcesses } from "../../../stores/memory/warn_of_processes.ts";
import type { AnyLimiter, GivenLimit } from "./limit_options.ts";

/** The most limiters that are kept. */
const MAX_LIMITERS = 1_000;

/**
 * Makes the function that chooses a request's limiter by the option `policy`.
 *
 * @throws {TypeError} If there is a store without a prefix.
 */
export function policyLimiter(
  action: string,
  { policy, store: given, prefix = given === undefined ? "policy" : undefined, clock, replaces }:
    GivenLimit,
): (request: unknown, info: unknown) => MaybePromise<AnyLimiter | undefined> {
  const store = given ?? memoryStore();
  checkPrefix(prefix);
  warnOfProcesses(store);
  const limiters = new Map<string, AnyLimiter>();

  function limiterOf(algorithm: Algorithm | undefined): AnyLimiter | undefined {
    if (algorithm === undefined) return undefined;
    if (typeof algorithm?.step !== "function") {
      throw typeError(action, "policy must return an algorithm, such as gcra(...)", algorithm);
    }
    // The name is not part of the id, but header fields show it.
    const name = `${algorithm.id}\0${algorithm.name}`;
    let known = limiters.get(name);
    if (known === undefined) {
      checkLimiter(algorithm, { replaces });
      known = limiterOn(algorithm, store, prefix!, { clock, replaces });
      setBounded(limiters, name, known, MAX_LIMITERS);
    }
    return known;
  }

  return (request, info) => andThen(policy!(request, info), limiterOf);
}
