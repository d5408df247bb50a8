import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { makeDecision } from "../../../core/make_decision.ts";

/**
 * The decision of a policy in place of a store: it says nothing about the limit.
 *
 * @param cost What was asked for; a look and a refund are always allowed.
 * @param allows Whether the policy allows.
 * @param retryAfter Milliseconds until the store is asked again.
 */
export function policyDecision(
  algorithm: Algorithm,
  cost: number,
  allows: boolean,
  retryAfter: number,
): Decision {
  const allowed = allows || cost <= 0;
  return makeDecision(
    allowed,
    algorithm.policies[0]?.limit ?? algorithm.capacity,
    0,
    allowed ? 0 : retryAfter,
    0,
    0,
    0,
    "policy",
    algorithm.internals?.parts?.map((part) => policyDecision(part, cost, allows, retryAfter)),
  );
}
