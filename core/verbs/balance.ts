/*
 * Looks at a key as people read it: what was used, what is left, and when the use is over.
 */

import type { Algorithm } from "../algorithm.ts";
import { blockedFor } from "../algorithms/blocked_for.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import type { Verb } from "../store.ts";

/** The balance of a key. `used + remaining` is `limit`, unless the key is in debt or blocked. */
export interface Balance {
  /** The most units that can be in use: the limit of a window, the burst of a rate. */
  readonly limit: number;
  /** Units in use; more than `limit` for a key in debt. A block changes nothing in them. */
  readonly used: number;
  /** Whole units that one call could take now; 0 on a blocked key. */
  readonly remaining: number;
  /**
   * When all use is over, in milliseconds since the Unix epoch. For a key without use: when one unit
   * would be that was taken now, which is the end of a window.
   */
  readonly resetAt: number;
  /** Milliseconds until a block by hand ends: 0 without one, `Infinity` for a block without an end. */
  readonly blockedFor: number;
  /** `"fallback"` if another store answered, with the numbers of its share of the limit. */
  readonly source: Decision["source"];
  /** For `all`: the balance of each part, in order. The other fields are those of the tightest part. */
  readonly parts: readonly Balance[] | undefined;
}

/** The answer to a look: the decision, and the balance unless a failure policy answered. */
export interface Seen {
  readonly decision: Decision;
  readonly balance: Balance | undefined;
}

/** Looks at a key, and changes nothing. */
export const balance: Verb<undefined, Seen> = Object.freeze({
  name: "balance",
  kind: "look",
  units: () => 0,
  on(algorithm: Algorithm) {
    const { decide } = splitReducer(algorithm);
    return {
      next: (state: unknown) => state,
      answer: (state: unknown, _next: unknown, now: number): Seen => ({
        decision: decide(state, state, now, 0),
        balance: balanceIn(algorithm, state, now),
      }),
    };
  },
  decisionOf: ({ decision }: Seen) => decision,
  answerOf: (decision: Decision, answer?: Seen): Seen => ({
    decision,
    balance: answer?.balance && withSource(answer.balance, decision.source),
  }),
  transition: () => undefined,
});

function withSource(balance: Balance, source: Decision["source"]): Balance {
  return { ...balance, source, parts: balance.parts?.map((part) => withSource(part, source)) };
}

function balanceIn(algorithm: Algorithm, state: unknown, now: number): Balance {
  const { parts, wraps, blocks } = algorithm.internals ?? {};
  if (parts !== undefined) {
    const states = state as readonly unknown[];
    const own = parts.map((part, index) => balanceIn(part, states[index], now));
    const tightest = own.reduce((one, other) => other.remaining < one.remaining ? other : one);
    return { ...tightest, blockedFor: blockedFor(algorithm, state, now), parts: own };
  }
  if (wraps !== undefined) {
    const inner = balanceIn(wraps.inner, wraps.innerOf(state), now);
    const wait = blocks === undefined ? 0 : blockedFor(algorithm, state, now);
    return wait === 0 ? inner : { ...inner, remaining: 0, blockedFor: wait };
  }
  const { capacity } = algorithm;
  const { take, decide } = splitReducer(algorithm);
  const { remaining, debt, resetAfter } = decide(state, state, now, 0);
  const next = resetAfter === 0 ? take(state, now, 1) : state;
  return {
    limit: capacity,
    used: capacity - remaining + debt,
    remaining,
    resetAt: now + decide(next, next, now, 0).resetAfter,
    blockedFor: 0,
    source: undefined,
    parts: undefined,
  };
}
