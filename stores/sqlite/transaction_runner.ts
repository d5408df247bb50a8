/*
 * Transactions of SQLite. Each one begins without a lock, which is all that a refusal needs. If it then
 * fails because another process has written since it began, it begins again, with the lock.
 */

import { DriverError } from "../driver.ts";
import { hasCode, type SqliteStatement } from "./database.ts";
import { patience } from "./patience.ts";

/**
 * Makes the function that runs work in a transaction.
 *
 * @param prepare Prepares a statement of the database.
 * @param timeout The most milliseconds that a transaction waits for the lock.
 */
export function transactionRunner(
  prepare: (sql: string) => SqliteStatement,
  timeout: number,
): <Answer>(work: () => Answer) => Answer {
  const begin = prepare("BEGIN");
  const lock = prepare("BEGIN IMMEDIATE");
  const commit = prepare("COMMIT");
  const rollback = prepare("ROLLBACK");
  const waiting = patience(timeout);

  function inTransaction<Answer>(work: () => Answer): Answer {
    let isLocking = false;
    let waitStep: (() => boolean) | undefined;
    for (;;) {
      let isOpen = false;
      try {
        (isLocking ? lock : begin).run();
        isOpen = true;
        const answer = work();
        commit.run();
        waiting.reward();
        return answer;
      } catch (error) {
        if (isOpen) undo(rollback);
        if (!hasCode(error, "SQLITE_BUSY")) throw asDriverError(error);
        waitStep ??= waiting.start();
        // A failure without the lock only means that another process has written meanwhile.
        if (isLocking && !waitStep()) throw lockedOut(error, timeout);
        isLocking = true;
      }
    }
  }

  return inTransaction;
}

function undo(rollback: SqliteStatement): void {
  try {
    rollback.run();
  } catch {
    // After some errors SQLite has rolled back by itself.
  }
}

function lockedOut(cause: unknown, timeout: number): DriverError {
  const rule = `get the lock of the file within ${timeout} ms while others write to it`;
  return new DriverError((cause as Error).message, { applied: "no", rule, cause });
}

/** Wraps an error of SQLite. The transaction was rolled back, unless the disk failed at the commit. */
function asDriverError(error: unknown): DriverError {
  const applied = hasCode(error, "SQLITE_IOERR") ? "unknown" : "no";
  const message = error instanceof Error ? error.message : String(error);
  return new DriverError(message, { applied, rule: "read and write its file", cause: error });
}
