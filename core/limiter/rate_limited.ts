import type { Decision } from "../decision.ts";
import { RateLimitedError } from "../errors.ts";

/** The error of an `acquire` that is refused: what was requested, and when it could be admitted. */
export function rateLimited(
  { key, cost }: { readonly key: string; readonly cost: number },
  decision: Decision,
  rule = "its turn must come within maxWait",
): RateLimitedError {
  const wait = decision.retryAfter === Infinity
    ? "it would never come"
    : `it would come in ${decision.retryAfter} ms`;
  return new RateLimitedError(
    `Cannot acquire ${cost} of ${JSON.stringify(key)} as ${rule}: ${wait}`,
    decision,
  );
}
