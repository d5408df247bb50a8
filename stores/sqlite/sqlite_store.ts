/**
 * The SQLite store: limits in a file that all processes of a machine share, and that survives restarts.
 * It answers at once.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { sqliteStore } from "tidegate/sqlite";
 * import assert from "node:assert/strict";
 *
 * using store = sqliteStore(":memory:"); // "limits.db" for all processes of the machine
 * const api = limiter(gcra({ limit: 2, period: "1m", burst: 2 }), { store, prefix: "api" });
 *
 * assert.equal(api.consume("user:42").remaining, 1);
 * ```
 *
 * @module
 */

import { LONGEST_TIMER } from "../../core/clock.ts";
import {
  checkBoolean,
  checkOptions,
  checkText,
  integerFrom,
  typeError,
} from "../../core/options/checks.ts";
import type { AsyncStore, SyncStore } from "../../core/store.ts";
import { LOCKED_OPTIONS, type LockedStoreOptions } from "../locked/locked_options.ts";
import { lockedStore, type LockedStoreExtras } from "../locked/locked_store.ts";
import { checkPlace, checkVersion } from "./check_file.ts";
import { checkDatabase, hasCode, openPath, type SqliteDatabase } from "./database.ts";
import { openTable } from "./open_table.ts";
import { patience } from "./patience.ts";
import { sqliteDriver } from "./sqlite_driver.ts";

/** Milliseconds that opening may take while other processes write. */
const OPEN_WITHIN = 5_000;

/** The options of `sqliteStore`. */
export interface SqliteStoreOptions extends LockedStoreOptions {
  /**
   * The most milliseconds that a call waits while other processes write; from 1 to 2^31 - 1; default
   * 50. The wait stops the event loop, usually for less than a millisecond. After a call that waited in
   * vain, other calls do not wait until one of them succeeds.
   */
  readonly timeout?: number | undefined;
  /** The table, a name of letters, digits and underscores; default `"tidegate"`. */
  readonly table?: string | undefined;
  /**
   * Whether other connections may open the file, from other processes or other threads; default `true`.
   * That takes SQLite 3.51.3 or later, and a disk of this machine. With `false` they are locked out, and
   * any version and any disk will do.
   */
  readonly shared?: boolean | undefined;
}

/** A store in a SQLite database, which answers at once. */
export type SqliteStore = SyncStore & LockedStoreExtras;

/** A store in a SQLite database, which answers by promises, all calls of a turn together. */
export type SqliteTurnStore = AsyncStore & LockedStoreExtras;

/**
 * A store in a SQLite database, by `node:sqlite`, `bun:sqlite` or better-sqlite3. All processes of
 * a machine may open the same file, and a limit is exact over all of them.
 *
 * By default each call is a transaction, and is answered at once, in 15 to 40 microseconds. A refusal
 * writes nothing, and takes a few microseconds. With `batch: "turn"`, all calls of a turn of the event
 * loop are one transaction, and answers are promises. No answered call is lost by a restart or a killed
 * process. A machine that loses power may lose the last calls.
 *
 * The store makes its table. When it writes keys it also drops keys that are fresh again, so the file
 * stays as large as the keys in use. The store reads `Date.now`, and goes on when the wall clock is set
 * back. A call takes O(log n) for n keys held.
 *
 * @param database The path of a file, `":memory:"`, or an open database. Do not use that database
 * for anything else, because the store changes its settings, and a transaction of yours would
 * include the store's calls.
 * @param options As above.
 * @throws {TypeError} If an option is of the wrong type, the runtime has no SQLite, the file cannot
 * be shared safely, or the table is another one.
 * @throws {RangeError} If an option is out of range.
 *
 * @example Limits that survive a restart
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { sqliteStore } from "tidegate/sqlite";
 * import assert from "node:assert/strict";
 * import { mkdtempSync, rmSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 *
 * const folder = mkdtempSync(join(tmpdir(), "limits-"));
 * const algorithm = gcra({ limit: 1, period: "1h", burst: 1 });
 * const allowed = [1, 2].map(() => {
 *   using store = sqliteStore(join(folder, "limits.db"));
 *   return limiter(algorithm, { store, prefix: "login" }).consume("user:42").allowed;
 * });
 * assert.deepEqual(allowed, [true, false]);
 * rmSync(folder, { recursive: true });
 * ```
 */
export function sqliteStore(
  database: string | SqliteDatabase,
  options: SqliteStoreOptions & { readonly batch: "turn" },
): SqliteTurnStore;
/** A store in a SQLite database, which answers at once. */
export function sqliteStore(
  database: string | SqliteDatabase,
  options?: SqliteStoreOptions & { readonly batch?: "call" | undefined },
): SqliteStore;
/** A store in a SQLite database, where only the caller knows how it answers. */
export function sqliteStore(
  database: string | SqliteDatabase,
  options?: SqliteStoreOptions,
): SqliteStore | SqliteTurnStore;
export function sqliteStore(
  database: string | SqliteDatabase,
  options: SqliteStoreOptions = {},
): SqliteStore | SqliteTurnStore {
  checkOptions<SqliteStoreOptions>("create sqliteStore", options, {
    ...LOCKED_OPTIONS,
    timeout: integerFrom(1, LONGEST_TIMER),
    table: checkTable,
    shared: checkBoolean,
  });
  const { timeout = 50, table = "tidegate", shared = true, ...others } = options;
  if (typeof database === "string") checkText("create sqliteStore", "its path", database);
  else checkDatabase(database);
  let own: SqliteDatabase | undefined;
  const close = () => void own?.close();
  try {
    const opened = typeof database === "string" ? own = openPath(database) : database;
    const driver = whileBusy(() => {
      if (shared && database !== ":memory:") {
        checkVersion(opened);
        if (typeof database === "string") checkPlace(database);
      }
      openTable(opened, table, shared);
      return sqliteDriver(opened, table, timeout, close);
    });
    return lockedStore(driver, others);
  } catch (error) {
    close();
    throw error instanceof TypeError ? error : openingFailed(error, database);
  }
}

/** Tries again while other processes open the file, because only one of them can prepare it. */
function whileBusy<Opened>(open: () => Opened): Opened {
  const waitStep = patience(OPEN_WITHIN).start();
  for (;;) {
    try {
      return open();
    } catch (error) {
      if (!hasCode(error, "SQLITE_BUSY") || !waitStep()) throw error;
    }
  }
}

function openingFailed(cause: unknown, database: unknown): Error {
  const { message } = cause as Error;
  // Print the path in full, because its end says most.
  const place = typeof database === "string" ? `: its path is ${JSON.stringify(database)}` : "";
  return new Error(
    `Cannot open sqliteStore as SQLite must be able to read and write its file: ${message}${place}`,
    { cause },
  );
}

function checkTable(action: string, option: string, table: unknown): void {
  checkText(action, option, table);
  if (/^(?!sqlite_)[a-z_][a-z0-9_]*$/i.test(table)) return;
  const rule = "must be a name of letters, digits and underscores, and not begin with sqlite_";
  throw typeError(action, `${option} ${rule}`, table);
}

export type { LockedStoreOptions } from "../locked/locked_options.ts";
export type { LockedStoreExtras, LockedStoreStatistics } from "../locked/locked_store.ts";
export type { SqliteDatabase, SqliteStatement, SqliteValue } from "./database.ts";
