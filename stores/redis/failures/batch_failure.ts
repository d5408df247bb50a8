/*
 * Why a batch did not come to its end, and what the error replies of a server mean. What follows from
 * it for the calls is in batches/handle_outcome.ts.
 */

import { formatValue } from "../../../core/options/checks.ts";

/**
 * Why a batch did not come to its end:
 *
 * | kind | what happened | what follows |
 * |---|---|---|
 * | `lost` | the connection closed | another one is made at once |
 * | `silent` | no reply within the deadline | the breaker opens |
 * | `refused` | the server replied that it can do nothing now | the breaker opens |
 * | `unwritable` | the server replied that it takes no writes now | the breaker opens, but for calls that only look |
 * | `rejected` | the server replied an error about these calls | they fail, others are tried again |
 * | `moved` | another node of the cluster has the slot | the route is looked up again |
 *
 * Whether the batch was applied is another question: before its writes were sent it was not, and
 * neither where the server replied an error to them; otherwise nobody knows.
 */
export interface BatchFailure {
  /** What happened. */
  readonly kind: "lost" | "silent" | "refused" | "unwritable" | "rejected" | "moved";
  /** What was thrown or replied. */
  readonly error: Error;
}

/** The failure of a connection that is found closed before anything was sent. */
export function connectionLost(): BatchFailure {
  return { kind: "lost", error: new Error("The connection was lost") };
}

/** Replies that say that the slot is elsewhere, or moving there; nothing was applied. */
const ELSEWHERE_REGEXP = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/;

/** Replies that say that the server takes no writes from anybody now. */
const UNWRITABLE_REGEXP = /^(READONLY|OOM|NOREPLICAS|MISCONF)\b/;

/** Replies that say that the server can do nothing for anybody now. */
const UNWELL_REGEXP = /^(NOAUTH|WRONGPASS|LOADING|MASTERDOWN|BUSY|NOPERM .* run the)\b/;

/** What a server's error reply means. */
export function failureOfReply(error: Error): BatchFailure {
  const { message } = error;
  if (ELSEWHERE_REGEXP.test(message)) return { kind: "moved", error };
  if (UNWRITABLE_REGEXP.test(message)) return { kind: "unwritable", error };
  return { kind: UNWELL_REGEXP.test(message) ? "refused" : "rejected", error };
}

/**
 * Whether a script may have written before it met this error: what it wrote until then stays. (A
 * server that forbids all writes, or has no memory for more, says so at the first one.)
 */
export function mayHaveWritten({ message }: Error): boolean {
  return /\bscript\b/.test(message) && /^(ERR|NOPERM|WRONGTYPE)\b/.test(message);
}

/** Whether an error is one that a server replied: it begins with a word in capitals. */
export function isErrorReply(error: Error): boolean {
  return /^[A-Z][A-Z0-9]+( |$)/.test(error.message) && !("code" in error) && !("errno" in error);
}

/** The first error among replies. */
export function firstError(replies: readonly unknown[]): Error | undefined {
  for (const reply of replies) if (reply instanceof Error) return reply;
  return undefined;
}

/** What a client threw, which may be anything, as an error. */
export function asError(thrown: unknown): Error {
  const { message } = (thrown ?? {}) as { readonly message?: unknown };
  return typeof message === "string"
    ? thrown as Error
    : new Error(`The client threw ${formatValue(thrown)}`);
}

/** Why a closed store answers no call. */
export function storeClosed(): Error {
  return new Error("The store was closed");
}
