/*
 * The header fields of a verdict: RateLimit's, with one policy for each limit that was enforced, and
 * Retry-After. The rules that meet in a verdict are few combinations, so what writes the fields of
 * each is made once.
 */

import { setBounded } from "../../../core/toolkit.ts";
import type { Decision, Policy } from "../../../mod.ts";
import {
  type HeaderField,
  type HeaderWriter,
  headerWriter,
  retryAfterField,
} from "../../http/http.ts";
import type { RuleVerdict, Verdict } from "../../rules/rules.ts";
import { rulePolicies } from "./policy_names.ts";

/** The most combinations of policies whose writers are kept. */
const MAX_WRITERS = 1_000;

const writers = new Map<string, HeaderWriter>();

/** The fields of a verdict. */
export function verdictFields(verdict: Verdict): readonly HeaderField[] {
  const fields = rateLimitFields(verdict);
  const { allowed, decision } = verdict;
  const wait = allowed ? Infinity : decision?.retryAfter ?? Infinity;
  return wait === Infinity ? fields : [...fields, retryAfterField(wait)];
}

function rateLimitFields({ rules }: Verdict): readonly HeaderField[] {
  const enforced = scarcest(
    rules.filter(({ rule, decision }) =>
      !rule.shadow && decision !== undefined && decision.source !== "policy"
    ),
  );
  const policies = enforced.flatMap(rulePolicies);
  const decisions = enforced.flatMap(decisionsOf);
  if (policies.length === 0 || policies.length !== decisions.length) return [];
  // Two calendars may have the same numbers.
  const key = JSON.stringify([policies, enforced.map(({ limits }) => limits.map(({ id }) => id))]);
  let write = writers.get(key);
  if (write === undefined) setBounded(writers, key, write = writerOf(policies), MAX_WRITERS);
  return write(decisions, Date.now());
}

/**
 * For each rule, the counter that refuses, or else the counter that has the least left: a policy
 * has one name.
 */
function scarcest(verdicts: readonly RuleVerdict[]): readonly RuleVerdict[] {
  if (verdicts.length < 2) return verdicts;
  const byRule = new Map<RuleVerdict["rule"], RuleVerdict>();
  const left = ({ allowed, decision }: RuleVerdict) => allowed ? decision!.remaining : -1;
  for (const verdict of verdicts) {
    const known = byRule.get(verdict.rule);
    if (known === undefined || left(verdict) < left(known)) byRule.set(verdict.rule, verdict);
  }
  return [...byRule.values()];
}

/** The writer of the fields; it writes nothing if a policy's name cannot stand in a field. */
function writerOf(policies: readonly Policy[]): HeaderWriter {
  try {
    return headerWriter(policies);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return () => [];
  }
}

function decisionsOf({ decision, limits }: RuleVerdict): readonly Decision[] {
  if (decision === undefined || limits.length === 0) return [];
  return limits.length === 1 ? [decision] : decision.parts ?? [];
}
