/*
 * Prepares a database for a store: sets its options, and makes the table of states.
 */

import { errorMessage } from "../../core/options/checks.ts";
import { hasCode, type SqliteDatabase } from "./database.ts";

/** The columns of the table, in order. */
const COLUMNS = ["key", "state", "fresh_at"];
/** The bytes of a write-ahead log that stay on disk once a long reader has let it be emptied. */
const LOG_BYTES = 16 * 2 ** 20;

/**
 * Sets up the database, and makes the table if it is missing.
 *
 * @param isShared Whether other connections may open the file.
 * @throws {TypeError} If a table of that name has other columns, or the file cannot have a WAL.
 */
export function openTable(database: SqliteDatabase, table: string, isShared: boolean): void {
  // The store itself waits for a locked file, in steps of its own: see patience.ts.
  database.exec("PRAGMA busy_timeout = 0");
  if (!isShared) database.exec("PRAGMA locking_mode = EXCLUSIVE");
  const mode = database.prepare("PRAGMA journal_mode = WAL").get() as { journal_mode: string };
  if (mode.journal_mode !== "wal" && mode.journal_mode !== "memory") {
    const rule = "its file must support a write-ahead log";
    throw new TypeError(errorMessage("open sqliteStore", rule, mode.journal_mode));
  }
  // A crash of the process loses nothing. A crash of the machine may lose the last calls, and no more.
  database.exec("PRAGMA synchronous = NORMAL");
  database.exec(`PRAGMA journal_size_limit = ${LOG_BYTES}`);
  // In a mapped file, a stray write of one process would look like valid data to the others.
  database.exec("PRAGMA mmap_size = 0");
  if (columnsOf(database, table).length === 0) {
    database.exec(
      `CREATE TABLE IF NOT EXISTS "${table}" (
        key TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL, fresh_at INTEGER NOT NULL
      ) WITHOUT ROWID`,
    );
  }
  const columns = columnsOf(database, table);
  if (columns.join() !== COLUMNS.join()) {
    const rule = `the table ${table} must have the columns ${COLUMNS.join(", ")}`;
    throw new TypeError(errorMessage("open sqliteStore", rule, columns.join(", ")));
  }
  requireWritable(database, table);
}

/** Throws if the file can only be read, which SQLite would say at the first write. */
function requireWritable(database: SqliteDatabase, table: string): void {
  try {
    // No key is empty.
    database.exec(`DELETE FROM "${table}" WHERE key = ''`);
  } catch (error) {
    // Others write, so the file can be written.
    if (!hasCode(error, "SQLITE_BUSY")) throw error;
  }
}

function columnsOf(database: SqliteDatabase, table: string): readonly string[] {
  const rows = database.prepare(`PRAGMA table_info("${table}")`).all();
  return (rows as { readonly name: string }[]).map(({ name }) => name);
}
