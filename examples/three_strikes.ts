/*
 * A custom algorithm. After some strikes a key is out until it has been quiet for a period.
 */
import type { Algorithm, Codec, Decision } from "../mod.ts";

/** The instants of a key's strikes, the oldest first; empty for a fresh key. */
type Strikes = readonly number[];

/** The options of `threeStrikes`; `period` in milliseconds. */
interface StrikesOptions {
  readonly strikes: number;
  readonly period: number;
}

const FRESH: Strikes = [];

/**
 * Admits a strike while there are fewer than `strikes`. All strikes are forgiven together, a period
 * after the newest strike.
 */
export function threeStrikes({ strikes, period }: StrikesOptions): Algorithm<Strikes> {
  function until(state: Strikes, now: number): number {
    return Math.max(0, (state.at(-1) ?? -Infinity) + period - now);
  }
  function live(state: Strikes, now: number): Strikes {
    return until(state, now) > 0 ? state : FRESH;
  }
  function after(state: Strikes, now: number, cost: number): Strikes {
    const held = live(state, now);
    if (cost > 0) {
      // A clock that stepped back strikes at the latest instant that the state holds.
      const instant = Math.max(now, held.at(-1) ?? now);
      return [...held, ...Array<number>(cost).fill(instant)];
    }
    const kept = live(held.slice(0, Math.max(0, held.length + cost)), now);
    return kept.length > 0 ? kept : FRESH;
  }
  function check(now: number, cost: number): number {
    if (!(typeof now === "number" && now >= 0 && now <= 2 ** 42)) {
      throw new RangeError(`Cannot decide as now must be 0 to 2^42: current value is ${now}`);
    }
    if (!Number.isSafeInteger(cost)) {
      throw new RangeError(`Cannot decide as cost must be an integer: current value is ${cost}`);
    }
    return Math.floor(now);
  }
  function step(state: Strikes, now: number, cost: number): readonly [Decision, Strikes] {
    const instant = check(now, cost);
    const allowed = cost <= 0 || live(state, instant).length + cost <= strikes;
    const next = allowed && cost !== 0 ? after(state, instant, cost) : state;
    const used = live(next, instant).length;
    const decision: Decision = {
      allowed,
      limit: strikes,
      remaining: strikes - used,
      retryAfter: allowed ? 0 : cost > strikes ? Infinity : until(state, instant),
      nextAfter: until(next, instant),
      resetAfter: until(next, instant),
      delay: 0,
      debt: 0,
      source: undefined,
      parts: undefined,
    };
    return [decision, next];
  }
  /** Strikes have no debt: a charge takes at most the strikes that are left. */
  function charge(state: Strikes, now: number, cost: number): readonly [Decision, Strikes] {
    const left = strikes - live(state, check(now, cost)).length;
    const [, next] = step(state, now, Math.min(cost, left));
    return [step(next, now, 0)[0], next];
  }
  const name = `${strikes}-strikes`;
  return {
    name,
    id: `threeStrikes/${strikes}/${period}`,
    policies: [{ name, limit: strikes, period, burst: strikes }],
    capacity: strikes,
    initial: FRESH,
    step,
    charge,
    codec: strikesCodec(strikes),
  };
}

/** Text such as `s1 1000 2500`. The words are the instants, or -1 for a fresh key. */
function strikesCodec(strikes: number): Codec<Strikes> {
  function checked(instants: readonly number[]): Strikes | undefined {
    const sound = instants.every((at, i) =>
      Number.isSafeInteger(at) && at >= (instants[i - 1] ?? 0)
    );
    return sound && instants.length <= strikes ? instants : undefined;
  }
  return {
    maxWords: strikes,
    write(state, words, offset) {
      words.set(state.length > 0 ? state : [-1], offset);
      return Math.max(1, state.length);
    },
    read(words, offset, count) {
      const instants = [...words.subarray(offset, offset + count)];
      if (count === 1 && instants[0] === -1) return FRESH;
      return count > 0 ? checked(instants) : undefined;
    },
    encode: (state) => ["s1", ...state].join(" "),
    decode(text) {
      if (text === "s1") return FRESH;
      if (!/^s1( (0|[1-9][0-9]{0,12}))+$/.test(text)) return undefined;
      return checked(text.split(" ").slice(1).map(Number));
    },
  };
}
