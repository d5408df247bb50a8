import type { Decision } from "../../core/decision.ts";
import type { Operation } from "../../core/store.ts";
import type { Job } from "./job.ts";
import { policyDecision } from "./policy_decision.ts";

/**
 * Tells a call that Redis did not decide it: by the error, or with a policy by decisions in place of
 * it. To forget a key is nothing that a policy could answer.
 *
 * @param untilProbe Milliseconds until Redis is asked again.
 */
export function giveUp(
  { one, several, resolve, reject }: Job,
  error: Error,
  policy: "throw" | "allow" | "deny",
  untilProbe: number,
): void {
  const retryAfter = Math.max(1, Math.ceil(untilProbe));

  function decide({ algorithm, cost }: Operation): Decision {
    return policyDecision(algorithm, cost, policy === "allow", retryAfter);
  }

  if (policy === "throw") reject(error);
  else if (one !== undefined) resolve(decide(one));
  else if (several !== undefined) resolve(several.operations.map(decide));
  else reject(error);
}
