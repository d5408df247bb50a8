/*
 * The contract of drivers: how a database becomes a store. Everything else comes with it: batches,
 * callers of one key that share a write, retries, time limits, failure policies, the clock and all
 * algorithms.
 */

/** A key, the text that it must hold, and the text to write. */
export interface DriverCell {
  /** Where it is stored: well-formed text without NUL, of at most 2,000 bytes in UTF-8. */
  readonly key: string;
  /** The text that it must hold; empty if there must be none. */
  readonly held: string;
  /** The text to write, or empty to forget the key. The same as `held`: compare, and write nothing. */
  readonly next: string;
  /**
   * The instant, in milliseconds by the database's clock, from which on the key may be deleted; 0 where
   * there is nothing to write.
   */
  readonly freshAt: number;
}

/** The outcome of a commit. */
export interface DriverCommit {
  /** The database's time in milliseconds since the Unix epoch; without it `Date.now` decides. */
  readonly now?: number | undefined;
  /** Groups of which some key held another text: nothing of them was written. */
  readonly lost: readonly LostGroup[];
}

/** A group that was not as expected. */
export interface LostGroup {
  /** Its place among the groups. */
  readonly group: number;
  /** The texts that its keys hold, in their order; empty where there is nothing. */
  readonly held: readonly string[];
}

/** A driver, apart from how it decides. */
export interface Housekeeping {
  /** The name of the database in errors, such as `"Postgres"`. */
  readonly name: string;
  /** Deletes keys whose `freshAt` is some seconds past: at most so many, and returns how many. */
  sweep?(most: number): number | Promise<number>;
  /** Deletes all keys that begin so. */
  deletePrefix?(beginning: string): void | Promise<void>;
  /** Releases the resources of the driver. */
  close?(): void | Promise<void>;
}

/** A database that compares and sets. */
export interface CompareAndSet extends Housekeeping {
  /**
   * Commits groups of keys, each of them as a whole or not at all: where all keys of a group hold
   * what they should, their new texts are written; otherwise the group is lost.
   *
   * No key stands in two groups. Without groups it only tells the time.
   *
   * @param groups The groups to compare and write.
   * @param signal Aborted once nobody waits for the answer any longer.
   * @throws {DriverError} That says whether anything was written; for another error nobody knows.
   */
  commit(
    groups: readonly (readonly DriverCell[])[],
    signal: AbortSignal,
  ): Promise<DriverCommit>;
}

/** The options of a `DriverError`. */
export interface DriverErrorOptions extends ErrorOptions {
  /** Whether the calls may have been applied: `"no"`, or `"unknown"` (default). */
  readonly applied?: "no" | "unknown" | undefined;
  /** The part that failed: only these calls, or the server (default). */
  readonly scope?: "call" | "server" | undefined;
  /** Whether the same calls are to be tried again at once, as after a lost race; default `false`. */
  readonly retry?: boolean | undefined;
  /**
   * With `retry`: the groups that others keep locked. Calls on them are tried again apart from the
   * rest, and fail with this error once their time is over.
   */
  readonly locked?: readonly number[] | undefined;
  /**
   * The condition that the database must meet so that calls succeed, as errors say it after "must";
   * default `"be reachable"`.
   */
  readonly rule?: string | undefined;
}

/** A database could not commit. */
export class DriverError extends Error {
  /** The name of the class. */
  override readonly name = "DriverError";
  /** Whether the calls may have been applied. */
  readonly applied: "no" | "unknown";
  /** The part that failed. */
  readonly scope: "call" | "server";
  /** Whether the same calls are to be tried again at once. */
  readonly retry: boolean;
  /** Groups that others keep locked. */
  readonly locked: readonly number[];
  /** The condition that the database must meet, after "must". */
  readonly rule: string;

  /** Makes the error of what failed and what is known of it. */
  constructor(message: string, options: DriverErrorOptions = {}) {
    super(message, options);
    this.applied = options.applied ?? "unknown";
    this.scope = options.scope ?? "server";
    this.retry = options.retry ?? false;
    this.locked = options.locked ?? [];
    this.rule = options.rule ?? "be reachable";
  }
}
