import type { Job } from "./job.ts";
import type { KnownValues } from "./known_values.ts";
import type { ServerClock } from "./server_clock.ts";

/** Counted since the store was made. */
export interface Counters {
  decisions: number;
  batches: number;
  roundTrips: number;
  conflicts: number;
  contended: number;
  unavailable: number;
  connections: number;
  unreadable: number;
}

/** What all parts of one store share. */
export interface StoreParts {
  /** The most milliseconds that one round trip may take. */
  readonly deadline: number;
  /** The most milliseconds that dialling may take. */
  readonly dialDeadline: number;
  /** Whether the server says what time it is; otherwise `Date.now` does. */
  readonly askTime: boolean;
  /** The most calls that may wait for a connection. */
  readonly maxPending: number;
  /** How many connections to a single server. */
  readonly connections: number;
  readonly known: KnownValues;
  readonly clock: ServerClock;
  readonly counters: Counters;
  /** Tells calls that Redis does not decide them: by an error, or as the store's policy has it. */
  giveUp(jobs: readonly Job[], applied: "no" | "unknown", cause: Error): void;
}
