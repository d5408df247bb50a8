import type { Job } from "../batches/job.ts";
import { policyDecision } from "./policy_decision.ts";

/**
 * Tells a call that Redis did not decide it: by the error, or with a policy by decisions in place of
 * it. To forget a key is nothing that a policy could answer.
 *
 * @param untilProbe Milliseconds until a slot's server is asked again.
 */
export function answerUnavailable(
  { slot, one, several, resolve, reject }: Job,
  error: Error,
  policy: "throw" | "allow" | "deny",
  untilProbe: (slot: number) => number,
): void {
  const operations = one === undefined ? several?.operations : [one];
  if (policy === "throw" || operations === undefined) return reject(error);
  const retryAfter = Math.max(1, Math.ceil(untilProbe(slot)));
  const decisions = operations.map(({ algorithm, cost }) =>
    policyDecision(algorithm, cost, policy === "allow", retryAfter)
  );
  resolve(one === undefined ? decisions : decisions[0]);
}
