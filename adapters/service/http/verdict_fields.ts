/*
 * The header fields of a verdict: RateLimit's, with one policy for each limit that was enforced,
 * and Retry-After. There are few combinations of rules in verdicts, so the writer of fields is made
 * once for each combination.
 */

import { setBounded } from "../../../core/application_support.ts";
import type { Policy } from "../../../mod.ts";
import {
  type HeaderField,
  type HeaderWriter,
  headerWriter,
  retryAfterField,
} from "../../http/http.ts";
import { shownPolicies, type Verdict } from "../../rules/rules.ts";

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
  const { id, policies, decisions } = shownPolicies(rules);
  if (policies.length === 0) return [];
  let write = writers.get(id);
  if (write === undefined) setBounded(writers, id, write = writerOf(policies), MAX_WRITERS);
  return write(decisions, Date.now());
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
