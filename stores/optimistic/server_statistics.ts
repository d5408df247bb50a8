/** Counts of a store with a server since it was made. */
export interface ServerStoreStatistics {
  /** Calls that the server decided. */
  readonly decisions: number;
  /** Batches of calls, including batches that lost a race. */
  readonly batches: number;
  /** How often a call had to be tried again because others had changed its key. */
  readonly conflicts: number;
  /** Calls that ended in a `ContentionError`. */
  readonly contended: number;
  /** Calls that the server did not answer. */
  readonly unavailable: number;
  /** Calls that came while too many calls waited. */
  readonly overloaded: number;
  /** Connections made: how often the server answered for the first time, or again after a failure. */
  readonly connections: number;
  /** Values that were not states of their algorithm; each was treated as absent. */
  readonly unreadable: number;
}

/** The same, counted up by the parts of the store. */
export type ServerCounters = {
  -readonly [Figure in keyof ServerStoreStatistics]: ServerStoreStatistics[Figure];
};

/** Counters before the first call. */
export function serverCounters(): ServerCounters {
  return {
    decisions: 0,
    batches: 0,
    conflicts: 0,
    contended: 0,
    unavailable: 0,
    overloaded: 0,
    connections: 0,
    unreadable: 0,
  };
}
