import { serverCounters, type ServerStoreStatistics } from "../optimistic/server_statistics.ts";

/** The counters of a Redis store since it was made. */
export interface RedisStoreStatistics extends ServerStoreStatistics {
  /** How calls are committed on the last connection; `undefined` before the first connection. */
  readonly commit: "watch" | "cas" | "script" | undefined;
  /** The reason: the option, or the limits of the server. */
  readonly commitReason: string;
  /** Round trips that the batches took. */
  readonly roundTrips: number;
  /** Commands in these round trips. */
  readonly commands: number;
  /** How many round trips fall into each bucket of `ROUND_TRIP_SECONDS`, and how many took longer. */
  readonly roundTripCounts: readonly number[];
  /** The total seconds of these round trips. */
  readonly roundTripSeconds: number;
}

/**
 * The upper ends of the buckets of round trips, in seconds: six for each power of ten.
 */
export const ROUND_TRIP_SECONDS: readonly number[] = [1e5, 1e4, 1e3, 1e2, 10].flatMap((parts) =>
  [1, 1.5, 2, 3, 5, 7].map((step) => step / parts)
).concat(1);

/** The same, counted up by the parts of the store. */
export type RedisCounters =
  & { -readonly [Figure in keyof RedisStoreStatistics]: RedisStoreStatistics[Figure] }
  & { readonly roundTripCounts: number[] };

/** Counts a round trip that came back, or that did not come back in time. */
export function countRoundTrip(counters: RedisCounters, commands: number, seconds: number): void {
  const index = ROUND_TRIP_SECONDS.findIndex((end) => seconds <= end);
  counters.roundTripCounts[index === -1 ? ROUND_TRIP_SECONDS.length : index]!++;
  counters.roundTripSeconds += seconds;
  counters.roundTrips++;
  counters.commands += commands;
}

/** Counters before the first call. */
export function redisCounters(): RedisCounters {
  return {
    ...serverCounters(),
    commit: undefined,
    commitReason: "No connection was made yet",
    roundTrips: 0,
    commands: 0,
    roundTripCounts: new Array<number>(ROUND_TRIP_SECONDS.length + 1).fill(0),
    roundTripSeconds: 0,
  };
}
