/*
 * The errors of callers that wait in vain.
 */

import type { Decision } from "../decision.ts";
import { RateLimitedError, StoreUnavailableError } from "../errors.ts";
import type { WaitRequest } from "./queue.ts";

type Call = Pick<WaitRequest, "key" | "cost">;

/** The rule of a wait that would be too long. */
export const IN_TIME = "its turn must come within maxWait";

/** The error of an `acquire` that is refused: what was requested, and when it could be admitted. */
export function rateLimited(
  call: Call,
  decision: Decision,
  rule: string = IN_TIME,
): RateLimitedError {
  const { retryAfter } = decision;
  const wait = retryAfter === Infinity ? "never come" : `come in ${retryAfter} ms`;
  return new RateLimitedError(`Cannot ${acquiring(call)} as ${rule}: it would ${wait}`, decision);
}

/** The error of a call that a store has not answered by its caller's deadline. */
export function unanswered(
  call: Call & Pick<WaitRequest, "maxWait">,
  applied: "no" | "unknown",
): StoreUnavailableError {
  const rule = `the store must answer within maxWait (${call.maxWait} ms)`;
  const message = `Cannot ${acquiring(call)} as ${rule}: it has not answered`;
  return new StoreUnavailableError(message, applied);
}

/** The error of an `acquire` on a store that was closed. */
export function closed(call: Call, applied: "no" | "unknown"): StoreUnavailableError {
  const message = `Cannot ${acquiring(call)} as its store must be open: it was closed`;
  return new StoreUnavailableError(message, applied);
}

function acquiring({ key, cost }: Call): string {
  return `acquire ${cost} of ${JSON.stringify(key)}`;
}
