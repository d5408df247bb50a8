/*
 * The contract of drivers for `lockedStore`: databases that a process can lock.
 */

import type { DriverCell, ListedText } from "../driver.ts";

/** The outcome of a transaction. */
export interface LockedWork<Answer> {
  /** The keys to write; none if nothing changes. `held` is the present text of a key. */
  readonly writes: readonly DriverCell[];
  /** The value that `transact` returns once the keys are written. */
  readonly answer: Answer;
}

/**
 * A driver of a database that decides while it holds a lock: SQLite, the storage of a Durable Object.
 * Everything in it is synchronous. docs/internals/own_driver.md writes one.
 */
export interface LockedTransaction {
  /** The name of the database in errors, such as `"SQLite"`. */
  readonly name: string;
  /**
   * Runs a function on the texts of keys, and makes the writes that it returns, all or none. Nobody else
   * may change these keys in between. If there are no writes, it should not write at all.
   *
   * The function is pure. So a driver may call it first without a lock, and again with the lock if it
   * returned writes. The last call counts.
   *
   * @param keys Stored keys, none of them twice: well-formed, without NUL, 2,000 bytes at most.
   * @param body Receives the text of each key in order, or `""` for a key without one. It also receives
   * the database's time in milliseconds since the Unix epoch; without it the process's time counts.
   * @throws {DriverError} If nothing was written (`applied: "no"`), or perhaps (`"unknown"`).
   */
  transact<Answer>(
    keys: readonly string[],
    body: (held: readonly string[], now?: number) => LockedWork<Answer>,
  ): Answer;
  /**
   * Examines at most `most` keys, and deletes the keys whose `freshAt` has passed. The store calls it now
   * and then, after writes.
   */
  sweep?(most: number): unknown;
  /** Deletes all stored keys that begin with a text. Only a limiter's `resetPrefix` needs it. */
  deletePrefix?(beginning: string): unknown;
  /**
   * Lists keys with this beginning and their texts, in the order of the keys: at most `most`, of those
   * after the key `after`, which may be empty. Only `blocked` needs it.
   */
  list?(beginning: string, after: string, most: number): readonly ListedText[];
  /** Releases the database. */
  close?(): unknown;
}
