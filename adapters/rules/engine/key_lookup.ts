/*
 * Questions to a source of keys' own limits. A source may be slow, or never answer, so that there is a
 * bound on the questions at a time and on the wait for each.
 */

import type { LimitOptions } from "../../../core/rules/rules.ts";
import { withTimeout } from "../../../core/with_timeout.ts";

/** What a source knows of a key: limits of its own (at least one), a verdict, or nothing. */
export type KeyLimits = readonly LimitOptions[] | "unlimited" | "blocked" | undefined;

/** Looks up the limits of a key in a source: `user=42` in the domain `shop`. */
export type KeyLookup = (domain: string, key: string) => Promise<KeyLimits>;

/** The most questions to the source at a time; the other keys are decided by their rule. */
const MOST_AWAITED = 1_000;

/** The most questions without an answer, those included whose time is over. */
const MOST_UNANSWERED = 10_000;

/** A source of limits, and the questions to it that are open. */
export interface LookupSource {
  readonly lookup: KeyLookup;
  /** The longest that an answer is waited for, in milliseconds. */
  readonly deadline: number;
  /** Questions whose answer is waited for. */
  awaited: number;
  /** Questions without an answer, those included whose time is over. */
  unanswered: number;
}

/** Whether there is room for one more question now. */
export function mayLookUp({ awaited, unanswered }: LookupSource): boolean {
  return awaited < MOST_AWAITED && unanswered < MOST_UNANSWERED;
}

/** Looks up the limits of a key; rejects if there is no answer in time. */
export async function lookUp(
  source: LookupSource,
  domain: string,
  key: string,
): Promise<KeyLimits> {
  const { deadline } = source;
  source.awaited++;
  try {
    return await withTimeout(answerOf(source, domain, key), deadline, () => {
      throw new Error(`Cannot wait for the limits of a key as it took over ${deadline} ms`);
    });
  } finally {
    source.awaited--;
  }
}

async function answerOf(source: LookupSource, domain: string, key: string): Promise<KeyLimits> {
  source.unanswered++;
  try {
    return await source.lookup(domain, key);
  } finally {
    source.unanswered--;
  }
}
