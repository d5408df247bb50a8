/*
 * The meaning of errors, by SQLSTATE. If Postgres replies with an error, it has rolled the transaction
 * back, so nothing was charged. After silence or a lost connection nobody knows.
 */

import { asError } from "../as_error.ts";
import { DriverError, type DriverErrorOptions } from "../driver.ts";
import { LOCK_TIMEOUT, type PostgresNames } from "./schema.ts";

/** Codes of errors that a client throws before it has sent anything. */
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

/** SQLSTATEs with which every call fails, and the condition that Postgres must meet. */
const RULES: readonly (readonly [states: RegExp, rule: (names: PostgresNames) => string])[] = [
  [
    // A table or a function is missing, or has other columns, constraints or types.
    /^(42P01|42883|42703|42804|42P10|42P13|3F000|23...)$/,
    ({ table, commit, place }) =>
      `have the table ${table} and the function ${commit} of this version in ${place} ` +
      "(call store.migrate())",
  ],
  [
    /^42501$/,
    ({ table, commit }) =>
      `grant SELECT, INSERT, UPDATE and DELETE on ${table}, and EXECUTE on ${commit}`,
  ],
  [/^55P03$/, ({ table }) => `lock the table ${table} within ${LOCK_TIMEOUT} ms`],
  // The server is a standby. A standby has no unlogged tables either.
  [/^(25006|0A000)$/, () => "be a server that takes writes"],
  [/^53/, () => "have room"],
  [
    // A pooler chose a connection on which the statement's name is taken, or is not known.
    /^(42P05|26000)$/,
    () => "be called without prepared statements by name (the client's option prepare: false)",
  ],
  [/^(28...|3D000)$/, () => "let the client in"],
  [/^(08|57P|58|XX)/, () => "be reachable"],
];

/** The error for an answer that this version's function cannot give. */
export function unreadableAnswer(names: PostgresNames, cause: unknown): DriverError {
  const [, ruleOf] = RULES[0]!;
  return new DriverError("The function gave an unexpected answer", {
    rule: ruleOf(names),
    cause,
  });
}

/** Whether somebody else holds a lock, on the table or on a row. */
export function isLockTimeout(error: unknown): error is DriverError {
  return error instanceof DriverError && stateOf(error.cause) === "55P03";
}

/** Whether the connection does not know a statement's name, or has given it to another statement. */
export function isNameLost(thrown: unknown): boolean {
  return /^(42P05|26000)$/.test(stateOf(thrown));
}

/** The error of a failed migration, which has changed nothing. */
export function migrationFailure(thrown: unknown, { table, commit }: PostgresNames): Error {
  const state = stateOf(thrown);
  const rule = state === "42501"
    ? `its user must own ${table} and ${commit}, or may create them`
    : /^(42703|42804|42P10|42P13|42809|42883)$/.test(state)
    ? `${table} and ${commit} must be free, or those that it makes`
    : "Postgres must run its statements";
  return new Error(`Cannot migrate as ${rule}: ${asError(thrown).message}`, { cause: thrown });
}

/** Turns a client's error into a `DriverError`. */
export function postgresFailure(thrown: unknown, names: PostgresNames): DriverError {
  const { message, code, cause } = (thrown ?? {}) as Record<string, unknown>;
  const text = String(message === undefined || message === "" ? code ?? thrown : message);
  const state = stateOf(thrown);
  if (/ is not queryable$/.test(text)) {
    return new DriverError(text, { applied: "no", scope: "connection", cause: thrown });
  }
  if (state === "") {
    const { code: inner } = (cause ?? {}) as Record<string, unknown>;
    const isUnsent = [code, inner].some((each) => NOT_SENT.includes(String(each))) ||
      isFailedConnect(text);
    return new DriverError(text, { applied: isUnsent ? "no" : "unknown", cause: thrown });
  }
  return new DriverError(text, { ...meaningOf(state, names), cause: thrown });
}

/** The SQLSTATE, or an empty text. Bun has it in `errno`, and a code of its own in `code`. */
function stateOf(thrown: unknown): string {
  const { errno, code } = (thrown ?? {}) as Record<string, unknown>;
  return [errno, code].map(String).find((each) => SQLSTATE_REGEXP.test(each)) ?? "";
}

function meaningOf(state: string, names: PostgresNames): DriverErrorOptions {
  // A serialization failure, or a deadlock with statements of others.
  if (state === "40001" || state === "40P01") return { applied: "no", retry: true };
  // Another process of the server crashed, perhaps after the commit.
  if (state === "57P02") return { applied: "unknown" };
  // The server has ended this connection, which was idle or has rolled back.
  if (/^(57P01|57P05|25P03|25P04)$/.test(state)) return { applied: "no", scope: "connection" };
  const rule = RULES.find(([states]) => states.test(state))?.[1](names);
  return rule === undefined
    ? { applied: "no", scope: "call", rule: "accept the statement" }
    : { applied: "no", scope: "server", rule };
}

/** Whether a pool could not connect. Pools report this without a code. */
function isFailedConnect(text: string): boolean {
  return text === "timeout exceeded when trying to connect" ||
    text === "Cannot use a pool after calling end on the pool";
}
