/** The counters of a Redis store since it was made. */
export interface RedisStoreStatistics {
  /** How calls are committed on the last connection; `undefined` before the first connection. */
  readonly commit: "watch" | "cas" | "script" | undefined;
  /** The reason: the option, or the limits of the server. */
  readonly commitReason: string;
  /** Calls that were answered by Redis. */
  readonly decisions: number;
  /** Their batches, including batches that lost a race. */
  readonly batches: number;
  /** Round trips that the batches took. */
  readonly roundTrips: number;
  /** Commands in these round trips. */
  readonly commands: number;
  /** How many round trips fall into each bucket of `ROUND_TRIP_SECONDS`, and how many took longer. */
  readonly roundTripCounts: readonly number[];
  /** The total seconds of these round trips. */
  readonly roundTripSeconds: number;
  /** How often a call had to be tried again because others had changed its key. */
  readonly conflicts: number;
  /** Calls that ended in a `ContentionError`. */
  readonly contended: number;
  /** Calls that Redis did not answer. */
  readonly unavailable: number;
  /** Calls that came while too many calls waited. */
  readonly overloaded: number;
  /** Connections made. */
  readonly connections: number;
  /** Values that were not states of their algorithm. Each was treated as absent. */
  readonly unreadable: number;
}

/**
 * The upper ends of the buckets of round trips, in seconds: six for each power of ten.
 */
export const ROUND_TRIP_SECONDS: readonly number[] = [1e5, 1e4, 1e3, 1e2, 10].flatMap((parts) =>
  [1, 1.5, 2, 3, 5, 7].map((step) => step / parts)
).concat(1);

/** The same, counted up by the parts of the store. */
export type RedisCounters =
  & {
    -readonly [Figure in keyof Omit<RedisStoreStatistics, "roundTripCounts">]:
      RedisStoreStatistics[Figure];
  }
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
    commit: undefined,
    commitReason: "No connection was made yet",
    decisions: 0,
    batches: 0,
    roundTrips: 0,
    commands: 0,
    roundTripCounts: new Array<number>(ROUND_TRIP_SECONDS.length + 1).fill(0),
    roundTripSeconds: 0,
    conflicts: 0,
    contended: 0,
    unavailable: 0,
    overloaded: 0,
    connections: 0,
    unreadable: 0,
  };
}
