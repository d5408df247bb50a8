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

/** The fields of a verdict. */
export type VerdictFields = (verdict: Verdict) => readonly HeaderField[];

/** The most combinations of policies whose writers are kept. */
const MOST_WRITERS = 1_000;

/** Makes what writes the fields of verdicts. */
export function verdictFields(): VerdictFields {
  const writers = new Map<string, HeaderWriter>();
  return function fieldsOf(verdict) {
    const fields = rateLimitFields(writers, verdict);
    const { allowed, decision } = verdict;
    const wait = allowed ? Infinity : decision?.retryAfter ?? Infinity;
    return wait === Infinity ? fields : [...fields, retryAfterField(wait)];
  };
}

function rateLimitFields(
  writers: Map<string, HeaderWriter>,
  { rules }: Verdict,
): readonly HeaderField[] {
  const enforced = rules.filter(({ rule, decision }) =>
    !rule.shadow && decision !== undefined && decision.source !== "policy"
  );
  const policies = enforced.flatMap(policiesOf);
  const decisions = enforced.flatMap(decisionsOf);
  if (policies.length === 0 || policies.length !== decisions.length) return [];
  const key = JSON.stringify(policies);
  let write = writers.get(key);
  if (write === undefined) setBounded(writers, key, write = writerOf(policies), MOST_WRITERS);
  return write(decisions, Date.now());
}

/** What writes the fields; nothing of policies whose names cannot stand in a field. */
function writerOf(policies: readonly Policy[]): HeaderWriter {
  try {
    return headerWriter(policies);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return () => [];
  }
}

function policiesOf({ limits }: RuleVerdict): readonly Policy[] {
  return limits.flatMap(({ policies }) => policies);
}

function decisionsOf({ decision, limits }: RuleVerdict): readonly Decision[] {
  if (decision === undefined || limits.length === 0) return [];
  return limits.length === 1 ? [decision] : decision.parts ?? [];
}
