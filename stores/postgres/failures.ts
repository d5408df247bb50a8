/*
 * The meaning of errors, by SQLSTATE. Where Postgres replies an error the transaction was rolled back, so
 * that nothing was charged; after silence or a lost connection nobody knows.
 */

import { DriverError, type DriverErrorOptions } from "../driver.ts";

/** Errors of a client before it has sent anything. */
const NOT_SENT: readonly string[] = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "CONNECT_TIMEOUT",
  "ERR_POSTGRES_CONNECTION_REFUSED",
  "ERR_POSTGRES_CONNECTION_TIMEOUT",
];

/** A table or a function that is not there, or has other columns. */
const NO_TABLE_REGEXP = /^(42P01|42883|42703|42804|3F000)$/;
/** The state of the server: not reachable, no room, no right, read-only. */
const SERVER_REGEXP = /^(08|28|53|57P|58|XX|25006|42501|3D000|0A000)/;
const SQLSTATE_REGEXP = /^[0-9A-Z]{5}$/;

/** Reads the error of a client. */
export function postgresFailure(thrown: unknown, table: string): DriverError {
  const { message, code, errno, cause } = (thrown ?? {}) as {
    readonly message?: unknown;
    readonly code?: unknown;
    readonly errno?: unknown;
    readonly cause?: unknown;
  };
  const text = String(message === undefined || message === "" ? code ?? thrown : message);
  // Bun gives its own code, and Postgres' as `errno`.
  const state = [errno, code].find((each) => SQLSTATE_REGEXP.test(String(each)));
  if (typeof state !== "string") {
    const isUnsent = NOT_SENT.includes(String(code)) || NOT_SENT.includes(codeOf(cause)) ||
      isFailedConnect(text);
    return new DriverError(text, { applied: isUnsent ? "no" : "unknown", cause: thrown });
  }
  if (NO_TABLE_REGEXP.test(state)) {
    const rule = `its table ${table} and the function beside it must be those of this version`;
    return new DriverError(`${rule} (call store.migrate()): ${text}`, {
      applied: "no",
      cause: thrown,
    });
  }
  return new DriverError(text, { ...meaningOf(state), cause: thrown });
}

function meaningOf(state: string): DriverErrorOptions {
  // A serialization failure, and a deadlock with somebody else's statements.
  if (state === "40001" || state === "40P01") return { applied: "no", retry: true };
  // Others hold the lock of a row: only the calls on that key have to wait for it.
  if (state === "55P03") return { applied: "no", scope: "call", retry: true };
  // Another process of the server crashed: perhaps after the commit.
  if (state === "57P02") return { applied: "unknown" };
  return { applied: "no", scope: SERVER_REGEXP.test(state) ? "server" : "call" };
}

/** Pools say so without a code. */
function isFailedConnect(text: string): boolean {
  return text === "timeout exceeded when trying to connect" ||
    text === "Cannot use a pool after calling end on the pool";
}

function codeOf(cause: unknown): string {
  return String((cause as { readonly code?: unknown } | null | undefined)?.code);
}
