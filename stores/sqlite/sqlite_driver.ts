/*
 * The driver of SQLite. A call first reads without a lock, and that is all that a refusal needs. If the
 * call writes, it does so in the same transaction. The transaction fails if another process has written
 * since it began. The call then begins again, with the lock.
 */

import { DriverError } from "../driver.ts";
import type { LockedTransaction, LockedWork } from "../locked/locked_transaction.ts";
import { textAfterAll } from "../text_after_all.ts";
import { hasCode, type SqliteDatabase, type SqliteStatement } from "./database.ts";
import { patience } from "./patience.ts";

/** Makes the driver of an open database that has its table. */
export function sqliteDriver(
  database: SqliteDatabase,
  table: string,
  timeout: number,
  close: () => void,
): LockedTransaction {
  const statements: SqliteStatement[] = [];
  function prepare(sql: string): SqliteStatement {
    const statement = database.prepare(sql);
    statements.push(statement);
    return statement;
  }
  const begin = prepare("BEGIN");
  const lock = prepare("BEGIN IMMEDIATE");
  const commit = prepare("COMMIT");
  const rollback = prepare("ROLLBACK");
  const read = prepare(`SELECT state FROM "${table}" WHERE key = ?`);
  const write = prepare(
    `INSERT INTO "${table}" (key, state, fresh_at) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET state = excluded.state, fresh_at = excluded.fresh_at`,
  );
  const forget = prepare(`DELETE FROM "${table}" WHERE key = ?`);
  const last = prepare(
    `SELECT max(key) AS last, count(*) AS count
     FROM (SELECT key FROM "${table}" WHERE key > ? ORDER BY key LIMIT ?)`,
  );
  const sweepRange = prepare(`DELETE FROM "${table}" WHERE key > ? AND key <= ? AND fresh_at <= ?`);
  const page = prepare(
    `SELECT key, state FROM "${table}" WHERE key > ? AND key < ? ORDER BY key LIMIT ?`,
  );
  const forgetRange = prepare(`DELETE FROM "${table}" WHERE key >= ? AND key < ?`);
  const waiting = patience(timeout);
  /** The last key of the last sweep. */
  let swept = "";

  function textOf(key: string): string {
    const row = read.get(key) as { readonly state: string } | null | undefined;
    return row?.state ?? "";
  }

  /** Runs work in a transaction. A repeated one begins with the lock. */
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
        if (isOpen) undo();
        if (!hasCode(error, "SQLITE_BUSY")) throw asDriverError(error);
        waitStep ??= waiting.start();
        // A failure without the lock only means that another process has written meanwhile.
        if (isLocking && !waitStep()) throw lockedOut(error);
        isLocking = true;
      }
    }
  }

  function undo(): void {
    try {
      rollback.run();
    } catch {
      // After some errors SQLite has rolled back by itself.
    }
  }

  function lockedOut(cause: unknown): DriverError {
    const rule = `get the lock of the file within ${timeout} ms while others write to it`;
    return new DriverError((cause as Error).message, { applied: "no", rule, cause });
  }

  function transact<Answer>(
    keys: readonly string[],
    body: (held: readonly string[]) => LockedWork<Answer>,
  ): Answer {
    return inTransaction(() => {
      const { writes, answer } = body(keys.map(textOf));
      for (const { key, next, freshAt } of writes) {
        if (next === "") forget.run(key);
        else write.run(key, next, freshAt);
      }
      return answer;
    });
  }

  return {
    name: "SQLite",
    transact,
    sweep(most) {
      const range = last.get(swept, most) as { readonly last: string | null; count: number };
      if (range.last !== null) sweepRange.run(swept, range.last, Date.now());
      swept = Number(range.count) < most ? "" : range.last!;
    },
    deletePrefix: (beginning) =>
      void inTransaction(() => forgetRange.run(beginning, textAfterAll(beginning))),
    list(beginning, after, most) {
      const rows = inTransaction(() => page.all(after || beginning, textAfterAll(beginning), most));
      return (rows as { key: string; state: string }[]).map(({ key, state }) => [key, state]);
    },
    close() {
      // On Bun the file stays open as long as a statement does.
      for (const statement of statements) statement.finalize?.();
      close();
    },
  };
}

/** Wraps an error of SQLite. The transaction was rolled back, unless the disk failed at the commit. */
function asDriverError(error: unknown): DriverError {
  const applied = hasCode(error, "SQLITE_IOERR") ? "unknown" : "no";
  const message = error instanceof Error ? error.message : String(error);
  return new DriverError(message, { applied, rule: "read and write its file", cause: error });
}
