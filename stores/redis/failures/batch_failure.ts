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
 * Whether the calls were applied is another question: before their writes were sent they were not, and
 * neither where the server replied an error to them; otherwise nobody knows.
 */
export interface BatchFailure {
  /** What happened. */
  readonly kind: "lost" | "silent" | "refused" | "unwritable" | "rejected" | "moved";
  /** Whether the calls may have been applied. */
  readonly applied: "no" | "unknown";
  /** What was thrown or replied. */
  readonly error: Error;
}

/** The failure of a connection that is found closed before anything was sent. */
export function connectionLost(): BatchFailure {
  return { kind: "lost", applied: "no", error: new Error("The connection was lost") };
}

/** What the replies say that concern everybody. */
const KINDS = [
  ["moved", /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/],
  ["unwritable", /^(READONLY|OOM|NOREPLICAS|MISCONF)\b/],
  ["refused", /^(NOAUTH|WRONGPASS|LOADING|MASTERDOWN|BUSY|NOPERM .* run the)\b/],
] as const;

/** What a server's error reply means. */
export function failureOfReply(error: Error): BatchFailure {
  const { message } = error;
  // What a script wrote until it met the error stays. (A server that forbids all writes, or has no
  // memory for more, says so at the first one.)
  if (/\bscript\b/.test(message) && /^(ERR|NOPERM|WRONGTYPE)\b/.test(message)) {
    return { kind: "rejected", applied: "unknown", error };
  }
  return {
    kind: KINDS.find(([, regexp]) => regexp.test(message))?.[0] ?? "rejected",
    applied: "no",
    error,
  };
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
