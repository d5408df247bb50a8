import type { Outcome } from "../gate/rate_limit_options.ts";
import { GONE_STATUS } from "../gate/refund_rule.ts";

/**
 * How a request in the style of fetch ended, told before its response is handed to the server. Where
 * the client has gone away, that is how, and not the error that its going made of the handler.
 */
export function fetchOutcome(outcome: Outcome, signal: AbortSignal | undefined): Outcome {
  return signal?.aborted ? { ...outcome, status: GONE_STATUS } : outcome;
}
