/*
 * Envoy's rate limit service: what `POST /json` and gRPC have in common.
 *
 * Source: envoyproxy/data-plane-api, envoy/service/ratelimit/v3/rls.proto, and its JSON form.
 */

import { andThen, type MaybePromise } from "../../../core/toolkit.ts";
import type { Decision, Policy } from "../../../mod.ts";
import {
  algorithmOf,
  type Descriptor,
  ENVOY_UNITS,
  envoyLimit,
  type RuleEngine,
  type RuleVerdict,
  type Verdict,
} from "../../rules/rules.ts";

/** Envoy's units by their number in the protocol; the first one is none. */
export const UNIT_NAMES: readonly string[] = [
  "UNKNOWN",
  "SECOND",
  "MINUTE",
  "HOUR",
  "DAY",
  "MONTH",
  "YEAR",
  "WEEK",
];

/** A call of Envoy. */
export interface EnvoyCall {
  readonly domain: string;
  readonly descriptors: readonly EnvoyDescriptor[];
  /** Units of descriptors that bring none of their own; 0 stands for 1. */
  readonly hitsAddend: number;
}

/** A descriptor of a call. */
export interface EnvoyDescriptor {
  readonly entries: readonly (readonly [key: string, value: string])[];
  /** A limit in place of the rules' own. */
  readonly limit: { readonly requestsPerUnit: number; readonly unit: string } | undefined;
  /** Units; 0 only looks. */
  readonly hitsAddend: number | undefined;
}

/** The answer for one descriptor. */
export interface EnvoyStatus {
  readonly code: "OK" | "OVER_LIMIT";
  readonly currentLimit:
    | { readonly name: string; readonly requestsPerUnit: number; readonly unit: string }
    | undefined;
  readonly limitRemaining: number;
  /** Whole seconds; `undefined` without a limit. */
  readonly durationUntilReset: number | undefined;
}

/** The answer to a call. */
export interface EnvoyAnswer {
  readonly overallCode: "OK" | "OVER_LIMIT";
  readonly statuses: readonly EnvoyStatus[];
}

/** What is wrong with a call; `undefined` if nothing is. */
export function faultOfCall(call: EnvoyCall): string | undefined {
  const { domain, descriptors, hitsAddend } = call;
  if (domain === "") return "rate limit domain must not be empty";
  if (descriptors.length === 0) return "rate limit descriptor list must not be empty";
  if ([hitsAddend, ...descriptors.map((each) => each.hitsAddend ?? 0)].some(isTooLarge)) {
    return `hits_addend must be at most ${Number.MAX_SAFE_INTEGER}`;
  }
  for (const { entries, limit } of descriptors) {
    if (entries.length === 0) return "a descriptor must have at least one entry";
    if (entries.some(([key]) => key === "")) return "the key of an entry must not be empty";
    if (limit !== undefined && envoyLimit(1, limit.unit) === undefined) {
      return `the unit of a limit must be known, not ${limit.unit}`;
    }
    if (limit !== undefined && limit.requestsPerUnit >= 2 ** 32) {
      return "requests_per_unit must be at most 4294967295";
    }
  }
  return undefined;
}

function isTooLarge(hitsAddend: number): boolean {
  return hitsAddend > Number.MAX_SAFE_INTEGER;
}

/** Decides a call that has no fault. */
export function decideCall(engine: RuleEngine, call: EnvoyCall): MaybePromise<EnvoyAnswer> {
  const known = engine.rules.domains.has(call.domain);
  const descriptors = call.descriptors.map((each) => descriptorOf(each));
  if (!known) return answerOf({ allowed: true, decision: undefined, rules: [] }, descriptors);
  const cost = call.hitsAddend === 0 ? 1 : call.hitsAddend;
  return andThen(
    engine.consume({ domain: call.domain, descriptors, cost }),
    (verdict) => answerOf(verdict, descriptors),
  );
}

function descriptorOf({ entries, limit, hitsAddend }: EnvoyDescriptor): Descriptor {
  if (limit === undefined) return { entries, cost: hitsAddend };
  const own = envoyLimit(limit.requestsPerUnit, limit.unit);
  return { entries, cost: hitsAddend, limit: typeof own === "object" ? algorithmOf(own) : own };
}

function answerOf(verdict: Verdict, descriptors: readonly Descriptor[]): EnvoyAnswer {
  return {
    overallCode: verdict.allowed ? "OK" : "OVER_LIMIT",
    statuses: descriptors.map((_, place) =>
      statusOf(verdict.rules.find((said) => said.descriptors.includes(place)))
    ),
  };
}

const OPEN: EnvoyStatus = {
  code: "OK",
  currentLimit: undefined,
  limitRemaining: 0,
  durationUntilReset: undefined,
};

/** Envoy says what is left of an unlimited rule by the largest number. */
const UNLIMITED: EnvoyStatus = { ...OPEN, limitRemaining: 2 ** 32 - 1 };

function statusOf(said: RuleVerdict | undefined): EnvoyStatus {
  if (said === undefined) return OPEN;
  const { rule, decision, allowed, limits } = said;
  if (decision === undefined) return UNLIMITED;
  const policies = limits.flatMap((limit) => limit.policies);
  const [policy, tightest] = tightestOf(policies, decision);
  return {
    code: allowed ? "OK" : "OVER_LIMIT",
    currentLimit: {
      name: rule.name ?? "",
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

function unitOf(period: number | undefined): string {
  const found = Object.entries(ENVOY_UNITS).find(([, milliseconds]) => milliseconds === period);
  return found === undefined ? "UNKNOWN" : found[0].toUpperCase();
}
