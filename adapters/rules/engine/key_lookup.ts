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

/** Questions to a source of limits: so many at a time, each with a deadline. */
export interface SourceQuestions {
  /** Whether there is room for one more now. */
  isFree(): boolean;
  /** Asks for the limits of a key; rejects if there is no answer in time. */
  ask(domain: string, key: string): Promise<KeyLimits>;
}

/**
 * Bounds the questions to a source, which may be slow, or never answer.
 *
 * @param deadline The longest that an answer is waited for, in milliseconds.
 */
export function sourceQuestions(lookup: KeyLookup, deadline: number): SourceQuestions {
  let awaited = 0;
  let unanswered = 0;

  function late(): never {
    throw new Error(`Cannot wait for the limits of a key as it took over ${deadline} ms`);
  }

  async function answer(domain: string, key: string): Promise<KeyLimits> {
    unanswered++;
    try {
      return await lookup(domain, key);
    } finally {
      unanswered--;
    }
  }

  return {
    isFree: () => awaited < MOST_AWAITED && unanswered < MOST_UNANSWERED,
    async ask(domain, key) {
      awaited++;
      try {
        return await withTimeout(answer(domain, key), deadline, late);
      } finally {
        awaited--;
      }
    },
  };
}
