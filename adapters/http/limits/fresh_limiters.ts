/*
 * Notices limiters that are made anew for each request. Such a limiter has a store of its own,
 * knows nothing of earlier requests, and limits nothing.
 */

import { sizesOf } from "../../../core/algorithms/sizes_of.ts";
import { setBounded } from "../../../core/bounded_map.ts";
import type { LimiterInternals } from "../../../core/limiter/limiter_internals.ts";
import type { Store } from "../../../core/store.ts";

/** The most keys that are remembered. */
const MAX_KEYS = 100;

/**
 * How many new limiters in a row a key must get. A single new limiter is normal, because limiters
 * may be made on first use.
 */
const TIMES = 3;

/** The store of the last limiter that a key was given, and how many new limiters came in a row. */
interface LastLimiter {
  readonly store: WeakRef<Store>;
  readonly times: number;
}

/**
 * Makes the function that logs a line, once, if one key is given several new limiters in a row, all
 * with the same options and each with a new store.
 */
export function freshLimiterNotice(): (limiter: LimiterInternals, key: string) => void {
  const seen = new WeakSet<LimiterInternals>();
  const lasts = new Map<string, LastLimiter>();
  let said = false;

  return function notice(limiter, key) {
    if (said || seen.has(limiter)) return;
    seen.add(limiter);
    const { store, algorithm } = limiter;
    const name = [algorithm.id, sizesOf(algorithm), key].join("\0");
    const last = lasts.get(name);
    const isNew = last !== undefined && last.store.deref() !== store;
    const times = isNew ? last.times + 1 : 1;
    setBounded(lasts, name, { store: new WeakRef(store), times }, MAX_KEYS);
    if (times < TIMES) return;
    said = true;
    lasts.clear();
    console.warn(
      "A limiter is made for each request, with a store of its own, so nothing is limited: make " +
        "limiters once, or give policy: (request) => algorithm, which keeps use in one store (docs/errors.md#a-limiter-is-made-for-each-request)",
    );
  };
}
