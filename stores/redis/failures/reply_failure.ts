/*
 * The meaning of a Redis server's error replies.
 */

import type { BatchFailure } from "../../optimistic/batch_failure.ts";

/** Replies that affect all calls. */
const KINDS = [
  ["moved", /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/],
  ["unwritable", /^(READONLY|OOM|NOREPLICAS|MISCONF)\b/],
  ["refused", /^(NOAUTH|WRONGPASS|LOADING|MASTERDOWN|BUSY|NOPERM .* run the)\b/],
] as const;

/** The meaning of a server's error reply. */
export function failureOfReply(error: Error): BatchFailure {
  const { message } = error;
  // A script's writes before the error stay. (A server that forbids all writes, or has no
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
