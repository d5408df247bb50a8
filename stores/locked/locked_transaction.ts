/*
 * The driver of a database that a process locks: all that `lockedStore` needs of it.
 */

import type { DriverCell } from "../driver.ts";

/** The outcome of a transaction. */
export interface LockedWork<Answer> {
  /** The keys to be written; none if nothing changes. `held` is what they hold now. */
  readonly writes: readonly DriverCell[];
  /** The value that `transact` returns once they are written. */
  readonly answer: Answer;
}

/**
 * A driver of a database that decides while it holds a lock: SQLite, the storage of a Durable Object.
 * Everything in it is synchronous. docs/own_driver.md writes one.
 */
export interface LockedTransaction {
  /** The name of the database in errors, such as `"SQLite"`. */
  readonly name: string;
  /**
   * Runs a function on what keys hold, and writes what it returns, so that nobody else changes these
   * keys in between: all writes or none. Where nothing is to be written, nothing should be.
   *
   * The function is pure: a driver may call it without a lock first, and again with the lock if there
   * is something to write. The last call counts.
   *
   * @param keys Stored keys, none of them twice: well-formed, without NUL, 2,000 bytes at most.
   * @param body Receives the text of each key in order, `""` where there is none, and the database's
   * time in milliseconds since the Unix epoch; without it the time of the process counts.
   * @throws {DriverError} If nothing was written (`applied: "no"`), or perhaps (`"unknown"`).
   */
  transact<Answer>(
    keys: readonly string[],
    body: (held: readonly string[], now?: number) => LockedWork<Answer>,
  ): Answer;
  /**
   * Looks at some keys, `most` of them at most, and deletes those whose `freshAt` has passed. The store
   * calls it now and then after it has written.
   */
  sweep?(most: number): unknown;
  /** Deletes all stored keys that begin with a text. Only a limiter's `resetAll` needs it. */
  deletePrefix?(beginning: string): unknown;
  /** Lets go of the database. */
  close?(): unknown;
}
