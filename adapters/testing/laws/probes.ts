import type { Decision } from "../../../core/decision.ts";
import { gridsOf, type Subject } from "../arbitraries/subject.ts";
import { sameDecision } from "./same_decision.ts";
import { LAST_INSTANT, type Visit } from "./visits.ts";

/** Instants after a visit at which something may change, and some at which nothing should. */
export function laterInstants(subject: Subject, { now, decision }: Visit): number[] {
  const { retryAfter, nextAfter, resetAfter } = decision;
  const grids = gridsOf(subject).flatMap((
    grid,
  ) => [grid, (Math.floor(now / grid) + 1) * grid - now]);
  return [0, 1, ...grids, retryAfter, nextAfter, Math.floor(resetAfter / 2), resetAfter]
    .flatMap((wait) => [wait - 1, wait, wait + 1])
    .filter((wait) => wait >= 0 && now + wait <= LAST_INSTANT)
    .sort((a, b) => a - b)
    .map((wait) => now + wait);
}

/** The answer to a look. */
export function lookAt(subject: Subject, state: unknown, now: number): Decision {
  return subject.algorithm.step(state, now, 0)[0];
}

/**
 * The first difference that a caller could see between two states at the given instants, in words;
 * `undefined` if there is none. States after an admission must be the same; those after a refund may
 * still differ in what both hold no longer.
 */
export function difference(
  subject: Subject,
  a: unknown,
  b: unknown,
  instants: readonly number[],
): string | undefined {
  const { step, capacity } = subject.algorithm;
  for (const now of instants) {
    for (const cost of [0, 1, capacity, capacity + 1, -1]) {
      const [ofA, nextA] = step(a, now, cost);
      const [ofB, nextB] = step(b, now, cost);
      if (!sameDecision(ofA, ofB)) return `the same answer at ${now} to cost ${cost}`;
      if (cost > 0 && ofA.allowed && !sameState(subject, nextA, nextB)) {
        return `the same state at ${now} after cost ${cost}`;
      }
    }
  }
  return undefined;
}

/** Whether two states are kept as the same text. */
export function sameState({ algorithm }: Subject, a: unknown, b: unknown): boolean {
  return a === b || algorithm.codec.encode(a) === algorithm.codec.encode(b);
}
