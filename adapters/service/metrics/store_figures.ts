import { isPromise } from "../../../core/toolkit.ts";
import type { Store } from "../../../mod.ts";
import type { RedisStoreStatistics } from "../../../stores/redis/redis_store.ts";
import type { FiguresSnapshot } from "./figures_snapshot.ts";

type StoreFigures = Pick<FiguresSnapshot, "store" | "roundTrips">;

/** The part of a thread's time that may go into counting what a store holds. */
const MOST_TIME = 0.02;

/**
 * Makes what reports the numbers that a store reports of itself. A large store takes a while to
 * count, and anybody may ask: so the longer it took, the longer the same numbers are reported.
 *
 * @param time Milliseconds that pass.
 */
export function storeFigures(
  store: Store,
  time: () => number = () => performance.now(),
): () => StoreFigures {
  const { statistics } = store as { readonly statistics?: () => unknown };
  let known: StoreFigures = { store: {}, roundTrips: undefined };
  let freshUntil = -Infinity;
  return function figures() {
    const start = time();
    if (start < freshUntil) return known;
    known = figuresOf(statistics?.());
    const end = time();
    freshUntil = end + (end - start) / MOST_TIME;
    return known;
  };
}

function figuresOf(statistics: unknown): StoreFigures {
  if (typeof statistics !== "object" || statistics === null || isPromise(statistics)) {
    return { store: {}, roundTrips: undefined };
  }
  const numbers = Object.entries(statistics).filter(([, value]) => typeof value === "number");
  const store: Record<string, number> = Object.fromEntries(numbers);
  const { roundTripCounts: counts } = statistics as Partial<RedisStoreStatistics>;
  if (counts === undefined) return { store, roundTrips: undefined };
  const { roundTripSeconds: sum = 0, roundTrips: _, ...others } = store;
  return { store: others, roundTrips: { counts, sum } };
}
