import type { Algorithm } from "../../../core/algorithm.ts";
import type { Codec } from "../../../core/codec.ts";
import type { Decision } from "../../../core/decision.ts";

/** When a key's window opened, and the units that are used in it. */
export interface Use {
  readonly opened: number;
  readonly used: number;
}

/** The options of `quota`; `period` in milliseconds. */
export interface QuotaOptions {
  readonly limit: number;
  readonly period: number;
}

/** An algorithm as a user writes one, from the documentation alone: a window from the first call on. */
export function quota({ limit, period }: QuotaOptions): Algorithm<Use> {
  const initial: Use = { opened: 0, used: 0 };
  const left = (state: Use, now: number) =>
    state.used > 0 ? Math.max(0, state.opened + period - now) : 0;
  const held = (state: Use, now: number) => left(state, now) > 0 ? state : initial;

  function take(state: Use, now: number, cost: number): Use {
    const { opened, used } = held(state, now);
    const after = Math.min(limit, Math.max(0, used + cost));
    if (after === 0) return initial;
    return { opened: used > 0 ? opened : now, used: after };
  }
  function decisionOf(state: Use, now: number, allowed: boolean, retryAfter: number): Decision {
    const remaining = limit - held(state, now).used;
    const resetAfter = left(state, now);
    const nextAfter = remaining < limit ? resetAfter : 0;
    const none = { source: undefined, parts: undefined };
    return {
      allowed,
      limit,
      remaining,
      retryAfter,
      nextAfter,
      resetAfter,
      delay: 0,
      debt: 0,
      ...none,
    };
  }
  function step(state: Use, at: number, cost: number): readonly [Decision, Use] {
    const now = checked(at, cost);
    if (cost > 0 && held(state, now).used + cost > limit) {
      const wait = cost > limit ? Infinity : left(state, now);
      return [decisionOf(state, now, false, wait), state];
    }
    const next = cost === 0 ? state : take(state, now, cost);
    return [decisionOf(next, now, true, 0), next];
  }
  /** A charge takes at most the units that are left: there is no debt. */
  function charge(state: Use, at: number, cost: number): readonly [Decision, Use] {
    const now = checked(at, cost);
    const next = cost === 0 ? state : take(state, now, cost);
    return [decisionOf(next, now, true, 0), next];
  }
  const name = `${limit} in ${period} ms`;
  return {
    name,
    id: `quota/${limit}/${period}`,
    policies: [{ name, limit, period, burst: limit }],
    capacity: limit,
    initial,
    step,
    charge,
    codec: quotaCodec(limit, initial),
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

/** Text such as `q1 1000 3`, and the same two numbers as words. */
function quotaCodec(limit: number, initial: Use): Codec<Use> {
  function sound(opened: number, used: number): Use | undefined {
    const whole = Number.isInteger(opened) && opened >= 0 && opened <= 2 ** 42 &&
      !Object.is(opened, -0) && Number.isInteger(used) && used >= 0 && used <= limit &&
      !Object.is(used, -0);
    if (!whole || used === 0 && opened > 0) return undefined;
    return used === 0 ? initial : { opened, used };
  }
  return {
    maxWords: 2,
    write({ opened, used }, words, offset) {
      words.set([opened, used], offset);
      return 2;
    },
    read: (words, offset, count) =>
      count === 2 ? sound(words[offset] as number, words[offset + 1] as number) : undefined,
    encode: ({ opened, used }) => `q1 ${opened} ${used}`,
    decode(text) {
      const match = /^q1 (0|[1-9]\d*) (0|[1-9]\d*)$/.exec(text);
      return match === null ? undefined : sound(Number(match[1]), Number(match[2]));
    },
  };
}
