/*
 * Answers calls that a server did not decide. Only here do the options `onUnavailable` and
 * `onOverload` turn a failure into an error or into the decision of a policy.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { partsOf } from "../../core/algorithms/parts_of.ts";
import type { Decision } from "../../core/decision.ts";
import { StoreOverloadedError, StoreUnavailableError } from "../../core/errors.ts";
import type { DriverError } from "../driver.ts";
import { errorMessage } from "../../core/options/checks.ts";
import { makeDecision } from "../../core/make_decision.ts";
import { asError, storeClosedError } from "./batch_failure.ts";
import type { EngineContext } from "./engine_context.ts";
import { type Bound, isReadOnly, type Job } from "./job.ts";
import type { ServerCounters } from "./server_statistics.ts";

/** The options for calls that the server does not decide. */
export interface FailureOptions {
  readonly onUnavailable: "throw" | "allow" | "deny";
  readonly onOverload: "throw" | "deny";
  readonly maxPending: number;
}

/** Milliseconds after which a call that was refused for overload may come again. */
const OVERLOAD_WAIT = 25;

/**
 * Makes the function that answers calls that the server did not decide: with an error, or with the
 * decisions of a policy. No policy can answer a call that forgets a key, or a call on a closed store.
 * No policy admits a call during an overload, because an overload is not an outage.
 *
 * @param server The server's name in errors.
 * @param untilProbe Milliseconds until a slot's server is tried again.
 */
export function failurePolicy(
  server: string,
  { onUnavailable, onOverload, maxPending }: FailureOptions,
  counters: Pick<ServerCounters, "unavailable" | "overloaded">,
  untilProbe: (slot: number) => number,
): Pick<EngineContext, "failJobs" | "closeJobs" | "refuseJob"> {
  return {
    failJobs(jobs, applied, cause) {
      for (const job of jobs) {
        if (job.settled) continue;
        counters.unavailable++;
        const charged = isReadOnly(job) ? "no" : applied;
        const wait = () => Math.max(1, Math.ceil(untilProbe(job.slot)));
        answerByPolicy(job, onUnavailable, wait, () => unavailableError(server, charged, cause));
      }
    },
    closeJobs(jobs) {
      for (const job of jobs) {
        if (job.settled) continue;
        counters.unavailable++;
        job.settled = true;
        job.reject(unavailableError(server, "no", storeClosedError()));
      }
    },
    refuseJob(job) {
      counters.overloaded++;
      answerByPolicy(job, onOverload, () => OVERLOAD_WAIT, () => {
        const rule = `fewer than ${maxPending} calls may wait for ${server} (maxPending)`;
        return new StoreOverloadedError(errorMessage("decide", rule, maxPending));
      });
    },
  };
}

function answerByPolicy(
  job: Job,
  policy: "throw" | "allow" | "deny",
  untilRetry: () => number,
  error: () => Error,
): void {
  const { bound, argument, several, resolve, reject } = job;
  job.settled = true;
  if (policy === "throw") return reject(error());
  const retryAfter = untilRetry();
  const answerTo = ({ verb, family }: Bound, argument: unknown) => {
    const isFree = verb.kind === "free" || verb.units(argument) === 0;
    const allowed = policy === "allow" || isFree;
    return verb.answerOf(policyDecision(family.spec.algorithm, allowed, retryAfter));
  };
  if (bound !== undefined) return resolve(answerTo(bound, argument));
  if (several === undefined) return reject(error());
  const answers = several.parts.map(({ bound, argument }) => answerTo(bound, argument));
  resolve(several.isSingle ? answers[0] : answers);
}

function unavailableError(
  server: string,
  applied: "no" | "unknown",
  thrown: unknown,
): StoreUnavailableError {
  const cause = asError(thrown);
  const { rule = "be reachable" } = cause as Partial<DriverError>;
  const what = applied === "no" ? "was not charged" : "may have been charged";
  return new StoreUnavailableError(
    `Cannot decide as ${server} must ${rule}, and the call ${what}: ${cause.message}`,
    applied,
    { cause },
  );
}

/**
 * The decision of a policy in place of the store. It does not know how much is left.
 *
 * @param allowed Whether the policy allows; a call that takes no units is always allowed.
 */
function policyDecision(algorithm: Algorithm, allowed: boolean, retryAfter: number): Decision {
  return makeDecision(
    allowed,
    algorithm.policies[0]?.limit ?? algorithm.capacity,
    0,
    allowed ? 0 : retryAfter,
    0,
    0,
    0,
    0,
    "policy",
    partsOf(algorithm)?.map((part) => policyDecision(part, allowed, retryAfter)),
  );
}
