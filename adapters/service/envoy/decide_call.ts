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
import type { VerdictFields } from "../http/verdict_fields.ts";
import type { EnvoyCall } from "./read_call.ts";

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
  /** What Envoy adds to the answer that its client gets. */
  readonly responseHeadersToAdd: readonly { readonly key: string; readonly value: string }[];
}

/**
 * Decides a call; one of an unknown domain is admitted. Descriptors that give units back do so before
 * the others take any.
 *
 * @param fieldsOf Makes the header fields of the answer; without it there are none.
 */
export function decideCall(
  engine: RuleEngine,
  call: EnvoyCall,
  fieldsOf?: VerdictFields,
): MaybePromise<EnvoyAnswer> {
  const { givesBack } = call;
  const statuses: EnvoyStatus[] = call.descriptors.map(() => OPEN);
  if (!engine.rules.domains.has(call.domain)) return answerOf(true, statuses, []);
  return andThen(
    decidePart(statuses, call, (place) => givesBack[place]!, engine.refund),
    () =>
      andThen(
        decidePart(statuses, call, (place) => !givesBack[place], engine.consume),
        (verdict) => {
          const fields = verdict === undefined ? [] : fieldsOf?.(verdict) ?? [];
          const headers = fields.map(([key, value]) => ({ key, value }));
          return answerOf(verdict?.allowed ?? true, statuses, headers);
        },
      ),
  );
}

/** Decides some descriptors of a call, and fills in their statuses; `undefined` if there are none. */
function decidePart(
  statuses: EnvoyStatus[],
  call: EnvoyCall,
  isOfPart: (place: number) => boolean,
  decide: (request: RuleRequest) => MaybePromise<Verdict>,
): MaybePromise<Verdict | undefined> {
  const places = call.descriptors.flatMap((_, place) => isOfPart(place) ? place : []);
  if (places.length === 0) return undefined;
  const descriptors = places.map((place) => call.descriptors[place]!);
  return andThen(decide({ ...call, descriptors }), (verdict) => {
    for (const each of verdict.rules) {
      for (const place of each.descriptors) statuses[places[place]!] = statusOf(each);
    }
    return verdict;
  });
}

function answerOf(
  allowed: boolean,
  statuses: readonly EnvoyStatus[],
  responseHeadersToAdd: EnvoyAnswer["responseHeadersToAdd"],
): EnvoyAnswer {
  return { overallCode: allowed ? "OK" : "OVER_LIMIT", statuses, responseHeadersToAdd };
}

const OPEN: EnvoyStatus = {
  code: "OK",
  currentLimit: undefined,
  limitRemaining: 0,
  durationUntilReset: undefined,
};

/** What is left of an unlimited rule is, with Envoy, the largest number. */
const UNLIMITED: EnvoyStatus = { ...OPEN, limitRemaining: 2 ** 32 - 1 };

function statusOf(verdict: RuleVerdict): EnvoyStatus {
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
export function jsonOfAnswer(answer: EnvoyAnswer): string {
  const { overallCode, statuses, responseHeadersToAdd: headers } = answer;
  return JSON.stringify({
    overallCode,
    responseHeadersToAdd: headers.length === 0 ? undefined : headers,
    statuses: statuses.map(({ limitRemaining, durationUntilReset: seconds, ...status }) => ({
      ...status,
      limitRemaining: limitRemaining === 0 ? undefined : limitRemaining,
      durationUntilReset: seconds === undefined ? undefined : `${seconds}s`,
    })),
  });
}
