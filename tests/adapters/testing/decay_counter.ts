import type { Algorithm } from "../../../core/algorithm.ts";
import type { Codec } from "../../../core/codec.ts";
import type { Decision } from "../../../core/decision.ts";

/** A key's count, and the period in which it is that; periods are counted from the epoch. */
export interface Count {
  readonly turn: number;
  readonly count: number;
}

/** The options of `decayCounter`; `period` in milliseconds. */
export interface DecayOptions {
  readonly limit: number;
  readonly period: number;
}

/** An algorithm as a user writes one, from the documentation alone: each period halves the count. */
export function decayCounter({ limit, period }: DecayOptions): Algorithm<Count> {
  const initial: Count = { turn: 0, count: 0 };

  function held(state: Count, now: number): Count {
    const turn = Math.max(state.turn, Math.floor(now / period));
    const count = Math.floor(state.count / 2 ** (turn - state.turn));
    return count === 0 ? initial : { turn, count };
  }
  /** The wait until the count is small enough. */
  function until(state: Count, now: number, most: number): number {
    const { turn, count } = held(state, now);
    let halvings = 0;
    while (Math.floor(count / 2 ** halvings) > most) halvings++;
    return halvings === 0 ? 0 : (turn + halvings) * period - now;
  }
  function take(state: Count, now: number, cost: number): Count {
    const before = held(state, now);
    const count = Math.min(limit, Math.max(0, before.count + cost));
    if (count === 0) return initial;
    return { turn: before.count > 0 ? before.turn : Math.floor(now / period), count };
  }
  function answer(state: Count, now: number, allowed: boolean, retryAfter: number): Decision {
    const { count } = held(state, now);
    return {
      allowed,
      limit,
      remaining: limit - count,
      retryAfter,
      nextAfter: count === 0 ? 0 : until(state, now, count - 1),
      resetAfter: until(state, now, 0),
      delay: 0,
      debt: 0,
      source: undefined,
      parts: undefined,
    };
  }
  function step(state: Count, at: number, cost: number): readonly [Decision, Count] {
    const now = checked(at, cost);
    if (cost > 0 && held(state, now).count + cost > limit) {
      const wait = cost > limit ? Infinity : until(state, now, limit - cost);
      return [answer(state, now, false, wait), state];
    }
    return charge(state, now, cost);
  }
  /** A charge takes at most the units that are left: there is no debt. */
  function charge(state: Count, at: number, cost: number): readonly [Decision, Count] {
    const now = checked(at, cost);
    const next = cost === 0 ? state : take(state, now, cost);
    return [answer(next, now, true, 0), next];
  }
  const name = `${limit}, halved each ${period} ms`;
  return {
    name,
    id: `decay/${limit}/${period}`,
    policies: [{ name, limit, period, burst: limit }],
    capacity: limit,
    initial,
    step,
    charge,
    codec: countCodec(limit, initial),
  };
}

function checked(now: number, cost: number): number {
  if (!(typeof now === "number" && now >= 0 && now <= 2 ** 42)) {
    throw new RangeError(`Cannot decide as now must be 0 to 2^42: current value is ${now}`);
  }
  if (!Number.isSafeInteger(cost)) {
    throw new RangeError(`Cannot decide as cost must be an integer: current value is ${cost}`);
  }
  return Math.floor(now);
}

/** Text such as `d1 1000 3`, and the same two numbers as words. */
function countCodec(limit: number, initial: Count): Codec<Count> {
  function sound(turn: number, count: number): Count | undefined {
    const whole = Number.isInteger(turn) && turn >= 0 && turn <= 2 ** 42 &&
      !Object.is(turn, -0) && Number.isInteger(count) && count >= 0 && count <= limit &&
      !Object.is(count, -0);
    if (!whole || count === 0 && turn > 0) return undefined;
    return count === 0 ? initial : { turn, count };
  }
  return {
    maxWords: 2,
    write({ turn, count }, words, offset) {
      words.set([turn, count], offset);
      return 2;
    },
    read: (words, offset, count) =>
      count === 2 ? sound(words[offset] as number, words[offset + 1] as number) : undefined,
    encode: ({ turn, count }) => `d1 ${turn} ${count}`,
    decode(text) {
      const match = /^d1 (0|[1-9]\d*) (0|[1-9]\d*)$/.exec(text);
      return match === null ? undefined : sound(Number(match[1]), Number(match[2]));
    },
  };
}
