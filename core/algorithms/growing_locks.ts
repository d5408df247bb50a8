/*
 * The accounting of a lockout whose locks grow: a lock that begins soon after the last lock is
 * longer than it. After a lock, the key's state keeps the number of its locks, its strikes.
 *
 * A lock ends after the try that opened its window, and the last lock before a window ended no later
 * than that. So a state shows whether its key is locked, whatever the limit that locked it.
 */

import { countsAfter, isCount } from "../arithmetic/counts.ts";
import { byPlace } from "../arithmetic/returns.ts";
import type { Accounting } from "./build_algorithm.ts";
import type { Codec } from "../codec.ts";

/** The state of a key under a `lockout` with several locks. */
export interface GrowingLockState {
  /** The instant of the first try; 0 without tries. */
  readonly opened: number;
  /** Tries since then. */
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
}

/** A key never used. */
export const NO_STRIKES: GrowingLockState = Object.freeze({
  opened: 0,
  tries: 0,
  strikes: 0,
  until: 0,
  before: 0,
});

/** Whether the key is locked, or was until the lock ended. */
function isLocked({ opened, tries, until }: GrowingLockState): boolean {
  return tries > 0 && until > opened;
}

/** The accounting of growing locks. */
export function growingAccounting(
  { limit, period, locks, forget }: GrowingLocks,
): Accounting<GrowingLockState> {
  /** The state without tries, as long as its strikes are remembered. */
  function idle(strikes: number, until: number, now: number): GrowingLockState {
    if (strikes === 0 || now >= until + forget) return NO_STRIKES;
    return { opened: 0, tries: 0, strikes, until, before: 0 };
  }

  /** The state that a call at `now` finds. A lock of a lower limit stays: all tries are used. */
  function current(state: GrowingLockState, now: number): GrowingLockState {
    const { opened, tries, strikes, until } = state;
    const locked = isLocked(state);
    const end = locked ? until : opened + period;
    if (tries === 0 || now >= end) return idle(strikes, until, now);
    if (locked && tries < limit) return { ...state, tries: limit };
    if (locked || strikes === 0 || now < until + forget) return state;
    return { opened, tries, strikes: 0, until: 0, before: 0 };
  }

  /** The state without the lock that its tries caused. */
  function unlocked(state: GrowingLockState): GrowingLockState {
    if (!isLocked(state)) return state;
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
      const { strikes, until, before } = held;
      const opened = held.tries === 0 ? Math.max(now, until) : held.opened;
      const tries = held.tries + units;
      // Under a higher limit, tries may have reached this one without a lock.
      if (held.tries >= limit || tries < limit) return { opened, tries, strikes, until, before };
      const lock = locks[Math.min(strikes, locks.length - 1)]!;
      const end = Math.max(now, opened) + lock;
      return { opened, tries, strikes: strikes + 1, until: end, before: until };
    },
    giveBack,
    free: (state, now) => limit - current(state, now).tries,
    wait(state, now) {
      const held = current(state, now);
      return (isLocked(held) ? held.until : held.opened + period) - now;
    },
    reset(state, now) {
      const held = current(state, now);
      const { tries, opened, strikes, until } = held;
      const open = tries === 0 || isLocked(held) ? 0 : opened + period - now;
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

/** Later than any instant, with room for locks. */
const LAST = 2 ** 52;

/**
 * Text: `l2`, the first try's instant, the tries, the strikes, when the last lock ends and when the
 * lock before it ended.
 */
export function growingCodec(
  { period, locks }: GrowingLocks,
): Codec<GrowingLockState> {
  const longest = Math.max(...locks);

  /** The state made of five numbers; `undefined` if no step can have made it. */
  function stateOf(numbers: readonly number[]): GrowingLockState | undefined {
    const [opened = 0, tries = 0, strikes = 0, until = 0, before = 0] = numbers;
    if (!numbers.every(isCount) || numbers.length > 5 || opened > LAST) return undefined;
    if ((strikes === 0) !== (until === 0) || until > LAST) return undefined;
    if (tries === 0 && strikes === 0) return opened + before === 0 ? NO_STRIKES : undefined;
    const state = { opened, tries, strikes, until, before };
    if (!isLocked(state)) return before > 0 || tries === 0 && opened > 0 ? undefined : state;
    const lasts = until < opened + period + longest && before <= opened;
    return lasts && (strikes > 1) === (before > 0) ? state : undefined;
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
