/*
 * Envoy's rate limit service: what `POST /json` and gRPC have in common. A call is decided by the
 * rules, and each of its descriptors has a status in the answer.
 */

import { andThen, type MaybePromise } from "../../../core/toolkit.ts";
import type { Decision, Policy } from "../../../mod.ts";
import {
  ENVOY_UNITS,
  type RuleEngine,
  type RuleRequest,
  type RuleVerdict,
  type Verdict,
} from "../../rules/rules.ts";

/** The answer for one descriptor. */
export interface EnvoyStatus {
  readonly code: "OK" | "OVER_LIMIT";
  readonly currentLimit: EnvoyLimit | undefined;
  readonly limitRemaining: number;
  /** Whole seconds; `undefined` without a limit. */
  readonly durationUntilReset: number | undefined;
}

/** The limit that a descriptor has met. */
export interface EnvoyLimit {
  readonly name: string | undefined;
  readonly requestsPerUnit: number;
  /** `undefined` if the limit's period is none of Envoy's units. */
  readonly unit: string | undefined;
}

/** The answer to a call. */
export interface EnvoyAnswer {
  readonly overallCode: "OK" | "OVER_LIMIT";
  readonly statuses: readonly EnvoyStatus[];
}

/** Decides a call; one of an unknown domain is admitted. */
export function decideCall(engine: RuleEngine, call: RuleRequest): MaybePromise<EnvoyAnswer> {
  const verdict = engine.rules.domains.has(call.domain)
    ? engine.consume(call)
    : { allowed: true, decision: undefined, rules: [] };
  return andThen(verdict, (verdict) => answerOf(verdict, call));
}

function answerOf({ allowed, rules }: Verdict, { descriptors }: RuleRequest): EnvoyAnswer {
  return {
    overallCode: allowed ? "OK" : "OVER_LIMIT",
    statuses: descriptors.map((_, place) =>
      statusOf(rules.find((verdict) => verdict.descriptors.includes(place)))
    ),
  };
}

const OPEN: EnvoyStatus = {
  code: "OK",
  currentLimit: undefined,
  limitRemaining: 0,
  durationUntilReset: undefined,
};

/** What is left of an unlimited rule is, with Envoy, the largest number. */
const UNLIMITED: EnvoyStatus = { ...OPEN, limitRemaining: 2 ** 32 - 1 };

function statusOf(verdict: RuleVerdict | undefined): EnvoyStatus {
  if (verdict === undefined) return OPEN;
  const { rule, decision, allowed, limits } = verdict;
  if (decision === undefined) return UNLIMITED;
  const policies = limits.flatMap((limit) => limit.policies);
  const [policy, tightest] = tightestOf(policies, decision);
  return {
    code: allowed ? "OK" : "OVER_LIMIT",
    currentLimit: {
      name: rule.name,
      requestsPerUnit: tightest.limit,
      unit: unitOf(policy?.period),
    },
    limitRemaining: decision.allowed ? Math.min(tightest.remaining, 2 ** 32 - 1) : 0,
    durationUntilReset: Math.ceil(tightest.resetAfter / 1_000),
  };
}

/** Of several limits the one that refuses, or else that has the least left. */
function tightestOf(
  policies: readonly Policy[],
  decision: Decision,
): readonly [Policy | undefined, Decision] {
  const parts = decision.parts ?? [decision];
  const refusing = parts.findIndex(({ allowed }) => !allowed);
  const least = Math.min(...parts.map(({ remaining }) => remaining));
  const place = refusing === -1
    ? parts.findIndex(({ remaining }) => remaining === least)
    : refusing;
  return [policies[place], parts[place]!];
}

function unitOf(period: number | undefined): string | undefined {
  const found = Object.entries(ENVOY_UNITS).find(([, milliseconds]) => milliseconds === period);
  return found?.[0].toUpperCase();
}

/** The answer in protobuf's JSON form, without what is at its default. */
export function jsonOfAnswer({ overallCode, statuses }: EnvoyAnswer): string {
  return JSON.stringify({
    overallCode,
    statuses: statuses.map(({ limitRemaining, durationUntilReset: seconds, ...status }) => ({
      ...status,
      limitRemaining: limitRemaining === 0 ? undefined : limitRemaining,
      durationUntilReset: seconds === undefined ? undefined : `${seconds}s`,
    })),
  });
}
