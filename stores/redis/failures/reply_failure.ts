/*
 * What the error replies of a Redis server mean.
 */

import type { BatchFailure } from "../../optimistic/batch_failure.ts";

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
