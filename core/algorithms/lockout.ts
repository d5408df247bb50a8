/*
 * The lockout: a limit on guesses of passwords and codes. Unlike a window, it starts a fixed lock
 * at the try that uses up the limit, and refused calls do not prolong it.
 */

import type { Algorithm } from "../algorithm.ts";
import { countsAfter, isCount, mostUnits } from "../arithmetic/counts.ts";
import { wordsCodec } from "../arithmetic/numbers_codec.ts";
import { byPlace } from "../arithmetic/returns.ts";
import { type Accounting, buildAlgorithm } from "./build_algorithm.ts";
import type { Codec } from "../codec.ts";
import {
  growingAccounting,
  growingCodec,
  type GrowingLockState,
  NO_STRIKES,
} from "./growing_locks.ts";
import { LAST_INSTANT, rangeError, typeError } from "../options/checks.ts";
import { LIMIT, NAME, type OptionsData, PERIOD } from "../options/options_data.ts";
import { type Period, readPeriod } from "../options/period.ts";
import { type Rate, type RateOptions, readRate } from "../options/rate_options.ts";

/** The state of a key under `lockout`. */
export interface LockoutState {
  /** The instant of the first try. */
  readonly opened: number;
  /** Tries since then: at least 1, except for a fresh key. */
  readonly tries: number;
  /** When the key was locked, by the try that reached the limit; -1 if it is not. */
  readonly locked: number;
}

/** The options of `lockout`. */
export interface LockoutOptions extends RateOptions {
  /** How long the key is locked: milliseconds, or text such as `"15m"`. */
  readonly lock: Period;
}

/** The options of a `lockout` whose locks grow. */
export interface GrowingLockoutOptions extends RateOptions {
  /**
   * How long the key is locked the first time, the second time and so on; the last entry is
   * repeated.
   */
  readonly lock: readonly Period[];
  /** How long after its end a lock still makes the next lock longer. */
  readonly forget: Period;
}

/** The options of `lockout` as data, with a lock of one length or with locks that grow. */
export const LOCKOUT_OPTIONS: OptionsData<LockoutOptions | GrowingLockoutOptions> = {
  limit: LIMIT,
  period: PERIOD,
  name: NAME,
  lock: {
    kind: "either",
    kinds: [{ kind: "period" }, { kind: "list", items: { kind: "period" } }],
    about: "For how long the key is locked; several durations, in order, for locks that grow.",
  },
  forget: {
    kind: "period",
    isOptional: true,
    about: "How long after its end a lock makes the next one longer, for locks that grow.",
  },
};

/**
 * The lockout, for logins and codes: `limit` tries in a period. The last of them locks the key.
 *
 * The first try opens a window of `period`; it ends, and the key is fresh, if fewer than `limit`
 * tries were taken by then. The try that reaches the limit is still admitted, and locks the key for
 * `lock`, counted from that try; then the key is fresh again. A refused call does not count and
 * does not prolong the lock, so an attacker who keeps trying cannot lock the owner of an account
 * out for good.
 *
 * Take a try before checking the password, and give all tries back by `reset` if it was right.
 * `refund` gives one try back, and so unlocks the key; `charge` takes tries beyond the limit, so
 * `charge(key, limit)` locks a key at once. A key is charged with at most a billion tries. If the
 * clock steps back to a time before the window, tries still count in that window. In any span
 * shorter than both `period` and `lock`, fewer than 2 * limit tries are admitted.
 *
 * With a list of locks, locks grow: the first lock lasts as long as the first entry of the list,
 * and a lock that begins within `forget` of the end of the last lock lasts as long as the next
 * entry. Once a lock is over, tries are counted from 0, but the key is fresh (see `resetAfter`)
 * only when its locks are forgotten. `refund` undoes a lock as above; each `limit` units beyond the
 * tries forgive one lock.
 *
 * Every call takes constant time; the state is three numbers, or five with a list. Source: OWASP,
 * "Authentication Cheat Sheet", on account lockout: its threshold, observation window and lockout
 * duration.
 *
 * @param options `limit` in tries, `period` and `lock` in milliseconds or as text.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { limiter, lockout } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const logins = limiter(lockout({ limit: 3, period: "10m", lock: "1h" }), { clock: () => 0 });
 * assert.equal(logins.consume("ada").remaining, 2);
 * assert.equal(logins.consume("ada").remaining, 1);
 * logins.reset("ada"); // the password was right
 *
 * for (let guess = 0; guess < 3; guess++) logins.consume("bob");
 * assert.equal(logins.consume("bob").retryAfter, 3_600_000);
 * ```
 *
 * @example Locks that grow
 * ```ts
 * import { lockout } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const guesses = lockout({ limit: 3, period: "10m", lock: ["1m", "5m", "1h"], forget: "1d" });
 * const [first, state] = guesses.step(guesses.initial, 0, 3);
 * const [second] = guesses.step(state, 60_000, 3); // the first lock is over
 * assert.equal(first.nextAfter, 60_000);
 * assert.equal(second.nextAfter, 5 * 60_000);
 * ```
 */
export function lockout(options: GrowingLockoutOptions): Algorithm;
/** A lockout whose locks are all of the same length. */
export function lockout(options: LockoutOptions): Algorithm;
export function lockout(
  options: LockoutOptions | GrowingLockoutOptions,
): Algorithm {
  const action = "create lockout";
  const rate = readRate<GrowingLockoutOptions>("lockout", options as GrowingLockoutOptions, {
    lock: true,
    forget: true,
  });
  const { forget } = options as GrowingLockoutOptions;
  if (Array.isArray(options.lock)) return growingLockout(rate, options.lock, forget);
  if (forget !== undefined) {
    throw typeError(action, "forget must be left out unless lock is a list", forget);
  }
  const { limit, period } = rate;
  const lock = readPeriod(action, "lock", options.lock as Period);
  return buildAlgorithm({
    ...rate,
    id: ["lockout", period, lock],
    capacity: limit,
    mostUse: mostUnits(limit, Infinity),
    initial: FRESH,
    locks: true,
    accounting: lockoutAccounting(rate, lock),
    codec: lockoutCodec(period),
  });
}

function growingLockout(
  rate: Rate,
  lock: readonly Period[],
  forgetAfter: Period,
): Algorithm<GrowingLockState> {
  const action = "create lockout";
  if (lock.length === 0 || lock.length > MOST_LOCKS) {
    throw rangeError(action, `lock must be 1 to ${MOST_LOCKS} durations`, lock);
  }
  const locks = lock.map((each) => readPeriod(action, "each lock", each));
  if (locks.some((each, index) => index > 0 && each < locks[index - 1]!)) {
    throw rangeError(action, "lock must hold durations in order, the shortest first", lock);
  }
  const forget = readPeriod(action, "forget", forgetAfter);
  const { limit, period } = rate;
  const numbers = { limit, period, locks, forget };
  return buildAlgorithm({
    ...rate,
    id: ["lockout", period, locks.join("-"), forget],
    capacity: limit,
    mostUse: mostUnits(limit, Infinity),
    initial: NO_STRIKES,
    locks: true,
    accounting: growingAccounting(numbers),
    codec: growingCodec(numbers),
  });
}

/** The most locks of different lengths. */
const MOST_LOCKS = 64;

const FRESH: LockoutState = Object.freeze({ opened: 0, tries: 0, locked: -1 });

function lockoutAccounting({ limit, period }: Rate, lock: number): Accounting<LockoutState> {
  /** When the key is fresh again. */
  const end = ({ opened, locked }: LockoutState) => locked < 0 ? opened + period : locked + lock;

  /** The state that a call at `now` finds. A lock of a lower limit stays: all tries are used. */
  function current(state: LockoutState, now: number): LockoutState {
    const { opened, tries, locked } = state;
    if (tries === 0 || now >= end(state)) return FRESH;
    return locked < 0 || tries >= limit ? state : { opened, tries: limit, locked };
  }

  function giveBack(state: LockoutState, now: number, units: number): LockoutState {
    const { opened, tries, locked } = current(state, now);
    if (tries <= units) return FRESH;
    const left = tries - units;
    return current({ opened, tries: left, locked: left < limit ? -1 : locked }, now);
  }

  return {
    add(state, now, units) {
      const held = current(state, now);
      const opened = held.tries === 0 ? now : held.opened;
      const tries = held.tries + units;
      // Under a higher limit, tries may have reached this one without a lock.
      const fills = held.tries < limit && tries >= limit;
      return { opened, tries, locked: fills ? Math.max(now, opened) : held.locked };
    },
    giveBack,
    free: (state, now) => limit - current(state, now).tries,
    reset: (state, now) => current(state, now).tries === 0 ? 0 : end(state) - now,
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
 * Text: `l1`, the first try's instant, the tries, and when they locked the key, if they locked it.
 */
function lockoutCodec(period: number): Codec<LockoutState> {
  /** The state made of three numbers; `undefined` if no step can have made it. */
  function stateOf(opened: number, tries: number, locked: number): LockoutState | undefined {
    if (tries === 0) return opened === 0 && locked === -1 ? FRESH : undefined;
    if (!isCount(opened) || opened > LAST_INSTANT || !isCount(tries)) return undefined;
    const isLocked = isCount(locked) && locked >= opened && locked < opened + period &&
      locked <= LAST_INSTANT;
    return locked === -1 || isLocked ? { opened, tries, locked } : undefined;
  }
  function encode({ opened, tries, locked }: LockoutState): string {
    if (tries === 0) return "l1";
    return locked < 0 ? `l1 ${opened} ${tries}` : `l1 ${opened} ${tries} ${locked}`;
  }
  return wordsCodec(
    3,
    ({ opened, tries, locked }) => [opened, tries, locked],
    stateOf,
    encode,
    (text) => {
      const [opened = 0, tries = 0, locked = -1] = countsAfter("l1", text) ?? [NaN];
      const state = stateOf(opened, tries, locked);
      return state !== undefined && encode(state) === text ? state : undefined;
    },
  );
}
