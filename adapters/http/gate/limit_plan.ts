import type { Decision } from "../../../core/decision.ts";
import {
  distinctNames,
  type HeaderField,
  headerWriter,
  type HeaderWriterOptions,
} from "../fields/header_writer.ts";
import { mayDelay } from "../../../core/algorithms/may_delay.ts";
import type { AnyLimiter } from "./rate_limit_options.ts";

/** What is worked out once for each limiter. */
export interface LimitPlan {
  readonly limiter: AnyLimiter;
  /** Whether admitted calls may have to wait for their start. */
  readonly delays: boolean;
  /** The rate limit fields of a decision. */
  fields(decision: Decision, now: number, partition: string | undefined): HeaderField[];
  /** The names of the policies that refused. */
  violated(decision: Decision): readonly string[];
}

/**
 * Works out a limiter's plan.
 *
 * @throws {RangeError} If a policy cannot stand in header fields, such as a name with a line
 * break.
 */
export function limitPlan(limiter: AnyLimiter, options: HeaderWriterOptions): LimitPlan {
  const { policies } = limiter.algorithm;
  const write = headerWriter(policies, options);
  const names = distinctNames(policies);

  return {
    limiter,
    delays: mayDelay(limiter.algorithm),
    fields(decision, now, partition) {
      // The failure policy's answers say nothing about the limit.
      if (decision.source === "policy") return [];
      const parts = decision.parts === undefined ? [decision] : flatParts(decision);
      return parts.length === policies.length ? write(parts, now, partition) : [];
    },
    violated(decision) {
      if (decision.source === "policy") return [];
      const parts = decision.parts === undefined ? [decision] : flatParts(decision);
      return names.filter((_, place) => parts[place]?.allowed === false);
    },
  };
}

/** The decision of each policy, in the order of the policies; an `all` within an `all` unfolded. */
function flatParts(decision: Decision): readonly Decision[] {
  return decision.parts === undefined ? [decision] : decision.parts.flatMap(flatParts);
}
