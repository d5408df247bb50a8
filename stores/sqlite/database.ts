/*
 * The databases of the runtimes: `node:sqlite` on Node and Deno, `bun:sqlite`, and better-sqlite3.
 * They share every method that a store needs, but their errors differ.
 */

import { errorMessage, typeError } from "../../core/options/checks.ts";
import { builtinModule } from "../builtin_module.ts";

/** A prepared statement. */
export interface SqliteStatement {
  /** Runs it, and returns the number of changes. */
  run(...values: SqliteValue[]): unknown;
  /** The first row; `undefined` or `null` if there is none. */
  get(...values: SqliteValue[]): unknown;
  /** All rows. */
  all(...values: SqliteValue[]): unknown[];
  /** Releases it, where the garbage collector would do that too late. */
  finalize?(): void;
}

/** A parameter of a statement. */
export type SqliteValue = string | number;

/**
 * An open database: a `DatabaseSync` of `node:sqlite`, a `Database` of `bun:sqlite` or of
 * better-sqlite3.
 */
export interface SqliteDatabase {
  /** Compiles a statement. */
  prepare(sql: string): SqliteStatement;
  /** Runs statements that return nothing. */
  exec(sql: string): unknown;
  /** Closes it. */
  close(): unknown;
}

type OpenPath = new (path: string) => SqliteDatabase;

/**
 * Opens a file with the runtime's own SQLite.
 *
 * @throws {TypeError} If the runtime has no SQLite.
 */
export function openPath(path: string): SqliteDatabase {
  const bun = builtinModule<{ readonly Database: OpenPath }>("bun:sqlite");
  if (bun !== undefined) return new bun.Database(path);
  const node = builtinModule<{ readonly DatabaseSync: OpenPath }>("node:sqlite");
  if (node !== undefined) return new node.DatabaseSync(path);
  const rule = "the runtime must have node:sqlite (Node 22.13, Deno 2.2) or bun:sqlite; " +
    "on Node 20, give it a database of the package better-sqlite3";
  throw new TypeError(errorMessage("open sqliteStore", rule, path));
}

/** Requires an open database. */
export function checkDatabase(database: unknown): asserts database is SqliteDatabase {
  const { prepare, exec, close } = (database ?? {}) as Partial<SqliteDatabase>;
  if ([prepare, exec, close].every((member) => typeof member === "function")) return;
  const rule = "it must be given a path, or an open database";
  throw typeError("create sqliteStore", rule, database);
}

/** Result codes of SQLite, and their texts. */
const CODES = {
  SQLITE_BUSY: { number: 5, text: "database is locked" },
  SQLITE_IOERR: { number: 10, text: "disk I/O error" },
} as const;

/** Whether an error has a result code of SQLite, or one that extends it. */
export function hasCode(error: unknown, name: keyof typeof CODES): boolean {
  const { errcode, errno, code, message } = (error ?? {}) as {
    readonly errcode?: number; // node:sqlite
    readonly errno?: number; // bun:sqlite
    readonly code?: string; // better-sqlite3, bun:sqlite
    readonly message?: string; // the only member after an `exec` on Deno
  };
  const { number, text } = CODES[name];
  const given = errcode ?? errno;
  if (typeof given === "number") return (given & 0xff) === number;
  return code === name || code?.startsWith(`${name}_`) === true || message === text;
}
