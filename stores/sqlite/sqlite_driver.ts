/*
 * The driver of SQLite. A call reads and writes in one transaction (transaction_runner.ts).
 */

import type { LockedTransaction, LockedWork } from "../locked/locked_transaction.ts";
import { textAfterAll } from "../driver_keys.ts";
import type { SqliteDatabase, SqliteStatement } from "./database.ts";
import { transactionRunner } from "./transaction_runner.ts";

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
  const inTransaction = transactionRunner(prepare, timeout);
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
  /** The last key of the last sweep. */
  let swept = "";

  function textOf(key: string): string {
    const row = read.get(key) as { readonly state: string } | null | undefined;
    return row?.state ?? "";
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
