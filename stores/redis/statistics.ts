/** What a Redis store has done since it was made. */
export interface RedisStoreStatistics {
  /** Calls that were answered by Redis. */
  readonly decisions: number;
  /** Batches that they went in, those included that lost a race. */
  readonly batches: number;
  /** Round trips that the batches took. */
  readonly roundTrips: number;
  /** How often a call had to be tried again, as others had changed its key. */
  readonly conflicts: number;
  /** Calls that ended in a `ContentionError`. */
  readonly contended: number;
  /** Calls that Redis did not answer. */
  readonly unavailable: number;
  /** Calls that came while too many waited. */
  readonly overloaded: number;
  /** Connections made. */
  readonly connections: number;
  /** Values that were no states of their algorithm: each was treated as absent. */
  readonly unreadable: number;
}

/** The same, counted up by the parts of the store. */
export type RedisCounters = { -readonly [Figure in keyof RedisStoreStatistics]: number };

/** Nothing was counted yet. */
export function redisCounters(): RedisCounters {
  return {
    decisions: 0,
    batches: 0,
    roundTrips: 0,
    conflicts: 0,
    contended: 0,
    unavailable: 0,
    overloaded: 0,
    connections: 0,
    unreadable: 0,
  };
}
