/*
 * The answers to calls that were not decided. Only here do the options `onUnavailable` and `onOverload`
 * turn a failure into an error or into the decision of a policy.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { partsOf } from "../../core/algorithms/parts_of.ts";
import type { Decision } from "../../core/decision.ts";
import { StoreOverloadedError, StoreUnavailableError } from "../../core/errors.ts";
import { makeDecision } from "../../core/make_decision.ts";
import { errorMessage } from "../../core/options/checks.ts";
import { asError } from "../as_error.ts";
import type { DriverError } from "../driver.ts";
import { type Answer, type Bound, type Call, isReadOnly } from "./call.ts";

/** The options for calls that the server does not decide. */
export interface FailureOptions {
  readonly onUnavailable: "throw" | "allow" | "deny";
  readonly onOverload: "throw" | "deny";
  readonly maxPending: number;
}

/** Milliseconds after which a call that was refused for overload may come again. */
const OVERLOAD_WAIT = 25;

/** Counts of calls that were not decided. */
export interface FailureCounters {
  unavailable: number;
  overloaded: number;
}

/** The answers to calls that were not decided. Each is counted. */
export interface FailurePolicy {
  /**
   * The answer of the policy, unless it is an error.
   *
   * @param applied Whether the call may have been charged.
   * @param retryAfter Milliseconds until a call that the policy refuses may come again.
   * @throws {StoreUnavailableError} By the policy `"throw"`, and for a call that forgets a key.
   */
  unavailable(call: Call, applied: "no" | "unknown", cause: unknown, retryAfter: number): Answer;
  /** The error of a call on a closed store. No policy answers it. */
  closed(cause: unknown): StoreUnavailableError;
  /**
   * The answer to a call for which there is no room. No policy admits it, because an overload is not
   * an outage.
   *
   * @throws {StoreOverloadedError} By the policy `"throw"`, and for a call that forgets a key.
   */
  overloaded(call: Call): Answer;
}

/**
 * Makes the answers to calls that were not decided.
 *
 * @param server The server's name in errors.
 */
export function failurePolicy(
  server: string,
  { onUnavailable, onOverload, maxPending }: FailureOptions,
  counters: FailureCounters,
): FailurePolicy {
  return {
    unavailable(call, applied, cause, retryAfter) {
      counters.unavailable++;
      if (!hasPolicy(call, onUnavailable)) {
        throw unavailableError(server, isReadOnly(call) ? "no" : applied, cause);
      }
      return answerByPolicy(call, onUnavailable === "allow", retryAfter);
    },
    closed(cause) {
      counters.unavailable++;
      return unavailableError(server, "no", cause);
    },
    overloaded(call) {
      counters.overloaded++;
      if (!hasPolicy(call, onOverload)) {
        const rule = `fewer than ${maxPending} calls may wait for ${server} (maxPending)`;
        throw new StoreOverloadedError(errorMessage("decide", rule, maxPending));
      }
      return answerByPolicy(call, false, OVERLOAD_WAIT);
    },
  };
}

/** Whether a policy answers a call. Nothing but an error answers one that forgets a key. */
function hasPolicy({ bound, several }: Call, policy: "throw" | "allow" | "deny"): boolean {
  return policy !== "throw" && (bound !== undefined || several !== undefined);
}

function answerByPolicy(
  { bound, argument, several }: Call,
  allows: boolean,
  retryAfter: number,
): Answer {
  const answerTo = ({ verb, family }: Bound, argument: unknown) => {
    const isFree = verb.kind === "free" || verb.units(argument) === 0;
    const decision = policyDecision(family.spec.algorithm, allows || isFree, retryAfter);
    return verb.answerOf(decision);
  };
  if (several === undefined) return answerTo(bound!, argument);
  const answers = several.parts.map(({ bound, argument }) => answerTo(bound, argument));
  return several.isSingle ? answers[0] : answers;
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
