/*
 * The meaning of errors, by SQLSTATE. Where Postgres replies an error the transaction was rolled back, so
 * that nothing was charged; after silence or a lost connection nobody knows.
 */

import { DriverError, type DriverErrorOptions } from "../driver.ts";
import type { PostgresNames } from "./schema.ts";

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

const SQLSTATE_REGEXP = /^[0-9A-Z]{5}$/;

/** Failures of every call, by SQLSTATE, and the condition that Postgres must meet. */
const RULES: readonly (readonly [states: RegExp, rule: (names: PostgresNames) => string])[] = [
  [
    // A table or a function that is not there, or has other columns, constraints, types.
    /^(42P01|42883|42703|42804|42P10|42P13|3F000|23...)$/,
    ({ table, commit }) =>
      `have the table ${table} and the function ${commit} of this version (call store.migrate())`,
  ],
  [
    /^42501$/,
    ({ table, commit }) =>
      `grant SELECT, INSERT, UPDATE and DELETE on ${table}, and EXECUTE on ${commit}`,
  ],
  [/^55P03$/, ({ table }) => `lock the table ${table} within 50 ms`],
  // A standby, which has no unlogged tables either.
  [/^(25006|0A000)$/, () => "be a server that takes writes"],
  [/^53/, () => "have room"],
  [
    // A statement of that name is, or is not, on the connection that a pooler chose.
    /^(42P05|26000)$/,
    () => "be called without prepared statements by name (the client's option prepare: false)",
  ],
  [/^(28...|3D000)$/, () => "let the client in"],
  [/^(08|57P|58|XX)/, () => "be reachable"],
];

/** The error of an answer that the function of this version does not give. */
export function unreadableAnswer({ table, commit }: PostgresNames, cause: unknown): DriverError {
  const [, ruleOf] = RULES[0]!;
  return new DriverError("The function gave an unexpected answer", {
    rule: ruleOf({ table, commit }),
    cause,
  });
}

/** Whether others hold a lock: of the table, unless it turns out to be one of a row. */
export function isLockTimeout(error: unknown): error is DriverError {
  const { code, errno } = ((error as Partial<DriverError>).cause ?? {}) as Record<string, unknown>;
  return error instanceof DriverError && stateOf(code, errno) === "55P03";
}

/** Whether a statement's name is not known to the connection, or is already. */
export function isNameLost(thrown: unknown): boolean {
  const { code, errno } = (thrown ?? {}) as Record<string, unknown>;
  return /^(42P05|26000)$/.test(String(stateOf(code, errno)));
}

/** The error of rows that others keep locked: only the calls on their keys have to wait for them. */
export function rowsLocked(
  { message, cause }: DriverError,
  locked: readonly number[],
): DriverError {
  const rule = "lock the row of its key within 50 ms";
  return new DriverError(message, {
    applied: "no",
    scope: "call",
    retry: true,
    locked,
    rule,
    cause,
  });
}

/** The error of a migration that failed; nothing was changed then. */
export function migrationFailure(thrown: unknown, { table, commit }: PostgresNames): Error {
  const { code, errno, message } = (thrown ?? {}) as Record<string, unknown>;
  const state = String(stateOf(code, errno));
  const rule = /^42501$/.test(state)
    ? `its user must own ${table} and ${commit}, or may create them`
    : /^(42703|42804|42P10|42P13|42809|42883)$/.test(state)
    ? `${table} and ${commit} must be free, or those that it makes`
    : "Postgres must run its statements";
  return new Error(`Cannot migrate as ${rule}: ${message ?? thrown}`, { cause: thrown });
}

/** Reads the error of a client. */
export function postgresFailure(thrown: unknown, names: PostgresNames): DriverError {
  const { message, code, errno, cause } = (thrown ?? {}) as {
    readonly message?: unknown;
    readonly code?: unknown;
    readonly errno?: unknown;
    readonly cause?: unknown;
  };
  const text = String(message === undefined || message === "" ? code ?? thrown : message);
  const state = stateOf(code, errno);
  if (typeof state !== "string") {
    const isUnsent = NOT_SENT.includes(String(code)) || NOT_SENT.includes(codeOf(cause)) ||
      isFailedConnect(text);
    return new DriverError(text, { applied: isUnsent ? "no" : "unknown", cause: thrown });
  }
  return new DriverError(text, { ...meaningOf(state, names), cause: thrown });
}

/** Postgres' code: Bun gives its own as `code`, and Postgres' as `errno`. */
function stateOf(code: unknown, errno: unknown): unknown {
  return [errno, code].find((each) => SQLSTATE_REGEXP.test(String(each)));
}

function meaningOf(state: string, names: PostgresNames): DriverErrorOptions {
  // A serialization failure, and a deadlock with somebody else's statements.
  if (state === "40001" || state === "40P01") return { applied: "no", retry: true };
  // Another process of the server crashed: perhaps after the commit.
  if (state === "57P02") return { applied: "unknown" };
  const rule = RULES.find(([states]) => states.test(state))?.[1](names);
  return rule === undefined
    ? { applied: "no", scope: "call", rule: "accept the statement" }
    : { applied: "no", scope: "server", rule };
}

/** Pools say so without a code. */
function isFailedConnect(text: string): boolean {
  return text === "timeout exceeded when trying to connect" ||
    text === "Cannot use a pool after calling end on the pool";
}

function codeOf(cause: unknown): string {
  return String((cause as { readonly code?: unknown } | null | undefined)?.code);
}
