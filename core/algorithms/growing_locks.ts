/*
 * The accounting of a lockout whose locks grow: a lock that begins soon after the last lock is
 * longer than it. After a lock, the key's state keeps the number of its locks, its strikes.
 */

import { countsAfter, isCount } from "../arithmetic/counts.ts";
import { byPlace } from "../arithmetic/returns.ts";
import type { Accounting } from "./build_algorithm.ts";
import type { Codec } from "../codec.ts";
import { LAST_INSTANT } from "../options/checks.ts";

/** The state of a key under a `lockout` with several locks. */
export interface GrowingLockState {
  /** The instant of the first try; 0 without tries. */
  readonly opened: number;
  /** Tries since then. The key was locked when they reached the limit. */
  readonly tries: number;
  /** Locks that are remembered, the current one included. */
  readonly strikes: number;
  /** When the last lock ends or ended; 0 without strikes. */
  readonly until: number;
  /**
   * During a lock: when the previous lock ended, for a refund that undoes the lock; 0 otherwise.
   */
  readonly before: number;
}

/** The numbers of growing locks. */
export interface GrowingLocks {
  readonly limit: number;
  readonly period: number;
  /** The milliseconds of the first lock, the second lock and so on; the last entry is repeated. */
  readonly locks: readonly number[];
  /** How long a lock still counts after its end. */
  readonly forget: number;
  /** The most tries that a key is charged with. */
  readonly most: number;
}

/** A key never used. */
export const NO_STRIKES: GrowingLockState = Object.freeze({
  opened: 0,
  tries: 0,
  strikes: 0,
  until: 0,
  before: 0,
});

/** The accounting of growing locks. */
export function growingAccounting(
  { limit, period, locks, forget }: GrowingLocks,
): Accounting<GrowingLockState> {
  /** The state without tries, as long as its strikes are remembered. */
  function idle(strikes: number, until: number, now: number): GrowingLockState {
    if (strikes === 0 || now >= until + forget) return NO_STRIKES;
    return { opened: 0, tries: 0, strikes, until, before: 0 };
  }

  /** The state that a call at `now` finds. */
  function current(state: GrowingLockState, now: number): GrowingLockState {
    const { opened, tries, strikes, until } = state;
    const isLocked = tries >= limit;
    const end = isLocked ? until : opened + period;
    if (tries === 0 || now >= end) return idle(strikes, until, now);
    if (isLocked || strikes === 0 || now < until + forget) return state;
    return { opened, tries, strikes: 0, until: 0, before: 0 };
  }

  /** The state without the lock that its tries caused. */
  function unlocked(state: GrowingLockState): GrowingLockState {
    if (state.tries < limit) return state;
    return { ...state, strikes: state.strikes - 1, until: state.before, before: 0 };
  }

  function giveBack(state: GrowingLockState, now: number, units: number): GrowingLockState {
    const held = current(state, now);
    const left = held.tries - units;
    if (left >= limit) return { ...held, tries: left };
    const open = unlocked(held);
    if (left > 0) return current({ ...open, tries: left }, now);
    // Beyond the tries, each `limit` units forgive a strike.
    const forgiven = Math.floor(-left / limit);
    return idle(Math.max(0, open.strikes - forgiven), open.until, now);
  }

  return {
    add(state, now, units) {
      const held = current(state, now);
      const opened = held.tries === 0 ? now : held.opened;
      const tries = held.tries + units;
      const { strikes, until, before } = held;
      if (held.tries >= limit || tries < limit) return { opened, tries, strikes, until, before };
      const lock = locks[Math.min(strikes, locks.length - 1)]!;
      const end = Math.max(now, opened) + lock;
      return { opened, tries, strikes: strikes + 1, until: end, before: until };
    },
    giveBack,
    free: (state, now) => limit - current(state, now).tries,
    wait(state, now) {
      const { tries, opened, until } = current(state, now);
      return (tries >= limit ? until : opened + period) - now;
    },
    reset(state, now) {
      const { tries, opened, strikes, until } = current(state, now);
      const open = tries === 0 || tries >= limit ? 0 : opened + period - now;
      return Math.max(open, strikes === 0 ? 0 : until + forget - now);
    },
    // The place of a try is the first try of its window.
    returns: byPlace({
      newest: ({ opened }) => opened,
      held(state, now, place) {
        const { opened, tries } = current(state, now);
        return opened === place ? tries : 0;
      },
      without: giveBack,
    }),
  };
}

/**
 * Text: `l2`, the first try's instant, the tries, the strikes, when the last lock ends and when the
 * lock before it ended.
 */
export function growingCodec(
  { limit, period, locks, most }: GrowingLocks,
): Codec<GrowingLockState> {
  const longest = Math.max(...locks);
  const lastEnd = LAST_INSTANT + period + longest;

  /** The state made of five numbers; `undefined` if no step can have made it. */
  function stateOf(numbers: readonly number[]): GrowingLockState | undefined {
    const [opened = 0, tries = 0, strikes = 0, until = 0, before = 0] = numbers;
    if (!numbers.every(isCount) || numbers.length > 5 || tries > most) return undefined;
    if (opened > LAST_INSTANT || until > lastEnd || before > lastEnd) return undefined;
    if ((strikes === 0) !== (until === 0)) return undefined;
    if (tries === 0 && opened > 0) return undefined;
    if (tries < limit) {
      if (before > 0) return undefined;
      return tries === 0 && strikes === 0 ? NO_STRIKES : { opened, tries, strikes, until, before };
    }
    const isLocked = strikes > 0 && until > opened && until < opened + period + longest;
    return isLocked && (strikes > 1) === (before > 0)
      ? { opened, tries, strikes, until, before }
      : undefined;
  }
  const numbersOf = ({ opened, tries, strikes, until, before }: GrowingLockState) => [
    opened,
    tries,
    strikes,
    until,
    before,
  ];
  const encode = (state: GrowingLockState) =>
    state.tries === 0 && state.strikes === 0 ? "l2" : ["l2", ...numbersOf(state)].join(" ");
  return {
    maxWords: 5,
    write(state, words, offset) {
      words.set(numbersOf(state), offset);
      return 5;
    },
    read: (words, offset, count) =>
      count === 5 ? stateOf([...words.subarray(offset, offset + 5)]) : undefined,
    encode,
    decode(text) {
      const state = stateOf(countsAfter("l2", text) ?? [NaN]);
      return state !== undefined && encode(state) === text ? state : undefined;
    },
  };
}
