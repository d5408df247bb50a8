/*
 * Adds the store's own statistics to the service's figures. Counting a large store takes time, and
 * anyone may ask, so the cost is bounded.
 */

import type { Store } from "../../../mod.ts";
import type { RedisStoreStatistics } from "../../../stores/redis/redis_store.ts";
import type { FiguresSnapshot } from "./figures_snapshot.ts";

type StoreFigures = Pick<FiguresSnapshot, "store" | "roundTrips">;

/** The part of a thread's time that may go into counting what a store holds. */
const MAX_TIME_SHARE = 0.02;

/**
 * Makes the function that returns a store's statistics. The longer they took to collect, the longer
 * the same numbers are returned.
 *
 * @param time A monotonic clock, in milliseconds.
 */
export function storeFigures(
  store: Store,
  time: () => number = () => performance.now(),
): () => StoreFigures {
  const { statistics } = store as { readonly statistics?: () => object };
  let known: StoreFigures = { store: {}, roundTrips: undefined };
  let freshUntil = -Infinity;
  return function figures() {
    const start = time();
    if (start < freshUntil) return known;
    known = figuresOf(statistics?.() ?? {});
    const end = time();
    freshUntil = end + (end - start) / MAX_TIME_SHARE;
    return known;
  };
}

/** The numbers among the statistics. A promise of statistics has none. */
function figuresOf(statistics: object): StoreFigures {
  const numbers = Object.entries(statistics).filter(([, value]) => typeof value === "number");
  const store: Record<string, number> = Object.fromEntries(numbers);
  const { roundTripCounts: counts } = statistics as Partial<RedisStoreStatistics>;
  if (counts === undefined) return { store, roundTrips: undefined };
  const { roundTripSeconds: sum = 0, roundTrips: _, ...others } = store;
  return { store: others, roundTrips: { counts, sum } };
}
