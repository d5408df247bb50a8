/*
 * The contract by which a database becomes a store. A driver need not know of anything else: batches,
 * callers of one key that share a write, retries, time limits, failure policies, the clock and the
 * algorithms.
 */

/** A key, the text that it must hold, and the text to write. */
export interface DriverCell {
  /** The stored key: well-formed text without NUL, of at most 2,000 bytes in UTF-8. */
  readonly key: string;
  /** The text that the key must hold; empty if it must hold none. */
  readonly held: string;
  /** The text to write; empty to forget the key. If it equals `held`, compare and write nothing. */
  readonly next: string;
  /**
   * The instant from which the key may be deleted, in milliseconds by the database's clock; 0 if nothing
   * is to be written.
   */
  readonly freshAt: number;
}

/** The outcome of a commit. */
export interface DriverCommit {
  /** The database's time in milliseconds since the Unix epoch. Without it the store uses `Date.now`. */
  readonly now?: number | undefined;
  /** Groups with a key that held another text. Nothing of these groups was written. */
  readonly lost: readonly LostGroup[];
  /**
   * Groups with a key that somebody else keeps locked, by their places. Nothing of these groups was
   * written. The store tries them again until the time of their calls is over.
   */
  readonly locked?: readonly number[] | undefined;
}

/** A group with a key that did not hold its expected text. */
export interface LostGroup {
  /** Its place among the groups. */
  readonly group: number;
  /** The texts that its keys hold, in the order of the keys; empty for a key that holds none. */
  readonly held: readonly string[];
}

/** A stored key, and its text. */
export type ListedText = readonly [key: string, text: string];

/** The members that drivers of both kinds have. */
export interface Housekeeping {
  /** The name of the database in errors, such as `"Postgres"`. */
  readonly name: string;
  /** Deletes at most `most` keys whose `freshAt` is some seconds past, and returns their number. */
  sweep?(most: number): number | Promise<number>;
  /** Deletes all keys with this beginning. */
  deletePrefix?(beginning: string): void | Promise<void>;
  /**
   * Lists keys with this beginning and their texts, in the order of the keys: at most `most`, of those
   * after the key `after`, which may be empty. Only `blocked` needs it.
   */
  list?(
    beginning: string,
    after: string,
    most: number,
  ): readonly ListedText[] | Promise<readonly ListedText[]>;
  /** Releases the resources of the driver. */
  close?(): void | Promise<void>;
}

/** A database that compares and sets. */
export interface CompareAndSet extends Housekeeping {
  /**
   * Commits groups of keys, each as a whole or not at all. If all keys of a group hold their expected
   * texts, it writes their new texts. Otherwise the group is lost.
   *
   * No key is in two groups. Without groups it only returns the time.
   *
   * @param groups The groups to compare and write.
   * @param signal Aborted once nobody waits for the answer any longer.
   * @throws {DriverError} It says whether anything was written. After any other error nobody knows.
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
  /**
   * The part that failed: only these calls, only this connection, so that another one may be tried at
   * once, or the server (default).
   */
  readonly scope?: "call" | "connection" | "server" | undefined;
  /** Whether to try the same calls again at once, as after a lost race; default `false`. */
  readonly retry?: boolean | undefined;
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
  readonly scope: "call" | "connection" | "server";
  /** Whether to try the same calls again at once. */
  readonly retry: boolean;
  /** The condition that the database must meet, after "must". */
  readonly rule: string;

  /** Makes the error, from a message and the known facts. */
  constructor(message: string, options: DriverErrorOptions = {}) {
    super(message, options);
    this.applied = options.applied ?? "unknown";
    this.scope = options.scope ?? "server";
    this.retry = options.retry ?? false;
    this.rule = options.rule ?? "be reachable";
  }
}
