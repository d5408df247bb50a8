/*
 * The two algorithms of Effect's own rate limiter, as pure turns: what its memory store does, state
 * in and state out. A state that a fresh one would equal is let go, which its memory store does not.
 */

import { fieldsCodec, type Machine, type Turn } from "./store_machine.ts";

/** A counter that each token keeps alive for one refill interval longer. */
export interface CounterState {
  readonly count: number;
  /** The instant at which the counter starts anew. */
  readonly expiresAt: number;
}

const NO_COUNT: CounterState = Object.freeze({ count: 0, expiresAt: 0 });

/** How counters are kept. */
export const counterMachine: Machine<CounterState> = Object.freeze({
  id: "effectFixedWindow",
  initial: NO_COUNT,
  codec: fieldsCodec("c1", NO_COUNT, ["count", "expiresAt"]),
});

/** The options of a turn of the counter; durations in milliseconds. */
export interface CounterOptions {
  readonly tokens: number;
  readonly refillRate: number;
  /** The most tokens; none are refused without it, or if it is 0. */
  readonly limit: number | undefined;
}

/** Takes tokens from a counter; answers the count after it and the counter's time to live. */
export function counterTurn(
  { tokens, refillRate, limit }: CounterOptions,
): (state: CounterState, now: number) => Turn<readonly [count: number, ttl: number], CounterState> {
  return function turn(state, now) {
    const live = state.expiresAt > now ? state : { count: 0, expiresAt: now };
    const count = live.count + tokens;
    if (limit && count > limit) {
      const ttl = live.expiresAt - now;
      return { answer: [count, ttl], state: live === state ? state : NO_COUNT, freshAfter: ttl };
    }
    const expiresAt = live.expiresAt + refillRate * tokens;
    const freshAfter = expiresAt - now;
    return {
      answer: [count, freshAfter],
      state: freshAfter > 0 ? { count, expiresAt } : NO_COUNT,
      freshAfter,
    };
  };
}

/** A bucket that gains one token at the end of each refill interval. */
export interface BucketState {
  /** Whether the bucket is full, as it is at first: then the rest means nothing. */
  readonly full: number;
  /** Tokens left; below 0 if they were taken in advance. */
  readonly tokens: number;
  /** The instant at which the current interval began. */
  readonly lastRefill: number;
}

const FULL: BucketState = Object.freeze({ full: 1, tokens: 0, lastRefill: 0 });

/** How buckets are kept. */
export const bucketMachine: Machine<BucketState> = Object.freeze({
  id: "effectTokenBucket",
  initial: FULL,
  codec: fieldsCodec("b1", FULL, ["full", "tokens", "lastRefill"]),
});

/** The options of a turn of the bucket; durations in milliseconds. */
export interface BucketOptions {
  readonly tokens: number;
  readonly limit: number;
  readonly refillRate: number;
  /** Whether tokens may be taken in advance. */
  readonly allowOverflow: boolean;
}

/** Takes tokens from a bucket; answers what is left, and how far the current interval has come. */
export function bucketTurn(
  { tokens, limit, refillRate, allowOverflow }: BucketOptions,
): (
  state: BucketState,
  now: number,
) => Turn<readonly [remaining: number, elapsed: number], BucketState> {
  return function turn(state, now) {
    const { held, began } = refilled(state, now, limit, refillRate);
    const left = held - tokens;
    const elapsed = Math.max(0, now - began);
    if (left < 0 && !allowOverflow) {
      const freshAfter = (limit - held) * refillRate - elapsed;
      return { answer: [left, elapsed], state: held >= limit ? FULL : state, freshAfter };
    }
    const freshAfter = (limit - left) * refillRate - elapsed;
    return {
      answer: [left, elapsed],
      state: left >= limit ? FULL : { full: 0, tokens: left, lastRefill: began },
      freshAfter,
    };
  };
}

function refilled(
  state: BucketState,
  now: number,
  limit: number,
  refillRate: number,
): { readonly held: number; readonly began: number } {
  if (state.full === 1) return { held: limit, began: now };
  const gained = Math.max(0, Math.floor((now - state.lastRefill) / refillRate));
  const held = gained > 0 ? Math.min(limit, state.tokens + gained) : state.tokens;
  return { held, began: held >= limit ? now : state.lastRefill + gained * refillRate };
}
