/*
 * Envoy's rate limit service: what `POST /json` and gRPC have in common. A call is decided by the
 * rules, and each of its descriptors has a status in the answer.
 */

import type { Decision, Policy } from "../../../mod.ts";
import {
  ENVOY_UNITS,
  type RuleEngine,
  type RuleRequest,
  type RuleVerdict,
  type Verdict,
} from "../../rules/rules.ts";
import { verdictFields } from "../http/verdict_fields.ts";
import type { EnvoyCall } from "./read_call.ts";

/**
 * The answer for one descriptor, in protobuf's JSON form, without fields that have their default
 * value.
 */
export interface EnvoyStatus {
  readonly code: "OK" | "OVER_LIMIT";
  /** The limit that decided about a descriptor. */
  readonly currentLimit?: {
    readonly name: string | undefined;
    readonly requestsPerUnit: number;
    /** `undefined` if Envoy has no unit for the limit's period. */
    readonly unit: string | undefined;
  };
  readonly limitRemaining?: number | undefined;
  /** Whole seconds: `"5s"`; `undefined` without a limit. */
  readonly durationUntilReset?: string;
}

/** The answer to a call, in the same form. */
export interface EnvoyAnswer {
  readonly overallCode: "OK" | "OVER_LIMIT";
  /** The fields that Envoy adds to its client's answer. */
  readonly responseHeadersToAdd:
    | readonly { readonly key: string; readonly value: string }[]
    | undefined;
  readonly statuses: readonly EnvoyStatus[];
}

/**
 * Decides a call; a call of an unknown domain is admitted. Descriptors that give units back do so
 * before other descriptors take units. A call with a malformed descriptor ends in an error, unless
 * another descriptor refuses it. The refusal comes first because Envoy may admit a request on an
 * error.
 *
 * @param withFields Whether the answer has header fields.
 */
export async function decideCall(
  engine: RuleEngine,
  call: EnvoyCall,
  withFields: boolean,
): Promise<EnvoyAnswer> {
  const { givesBack, fault } = call;
  const statuses = Array<EnvoyStatus>(call.count).fill(OPEN);
  let verdict: Verdict | undefined;
  if (engine.rules.domains.has(call.domain)) {
    await decidePart(statuses, call, (index) => givesBack[index]!, engine.refund);
    verdict = await decidePart(statuses, call, (index) => !givesBack[index], engine.consume);
  }
  const isAllowed = verdict?.allowed ?? true;
  if (fault !== undefined && isAllowed) throw fault;
  const fields = verdict === undefined || !withFields ? [] : verdictFields(verdict);
  return {
    overallCode: isAllowed ? "OK" : "OVER_LIMIT",
    responseHeadersToAdd: fields.length === 0
      ? undefined
      : fields.map(([key, value]) => ({ key, value })),
    statuses,
  };
}

/**
 * Decides some descriptors of a call, and fills in their statuses; `undefined` for an empty list.
 */
async function decidePart(
  statuses: EnvoyStatus[],
  call: EnvoyCall,
  isOfPart: (index: number) => boolean,
  decide: (request: RuleRequest) => Verdict | Promise<Verdict>,
): Promise<Verdict | undefined> {
  const indices = call.descriptors.flatMap((_, index) => isOfPart(index) ? index : []);
  if (indices.length === 0) return undefined;
  const descriptors = indices.map((index) => call.descriptors[index]!);
  const verdict = await decide({ ...call, descriptors });
  for (const each of verdict.rules) {
    for (const index of each.descriptors) {
      statuses[call.places[indices[index]!]!] = statusOf(each);
    }
  }
  return verdict;
}

const OPEN: EnvoyStatus = { code: "OK" };

/**
 * The status under an unlimited rule: Envoy's service reports the largest number as the units left.
 */
const UNLIMITED: EnvoyStatus = { code: "OK", limitRemaining: 2 ** 32 - 1 };

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
    limitRemaining: decision.allowed && tightest.remaining > 0
      ? Math.min(tightest.remaining, 2 ** 32 - 1)
      : undefined,
    durationUntilReset: `${Math.ceil(tightest.resetAfter / 1_000)}s`,
  };
}

/** The limit that refuses; without a refusal, the limit with the fewest units left. */
function tightestOf(
  policies: readonly Policy[],
  decision: Decision,
): readonly [Policy | undefined, Decision] {
  const parts = decision.parts ?? [decision];
  const refusing = parts.findIndex(({ allowed }) => !allowed);
  const least = Math.min(...parts.map(({ remaining }) => remaining));
  const index = refusing === -1
    ? parts.findIndex(({ remaining }) => remaining === least)
    : refusing;
  return [policies[index], parts[index]!];
}

function unitOf(period: number | undefined): string | undefined {
  const found = Object.entries(ENVOY_UNITS).find(([, milliseconds]) => milliseconds === period);
  return found?.[0].toUpperCase();
}
