/*
 * Concurrency: how many units are in use at once. Units are permits, each with a known holder: a
 * holder gives back its own permits, and the permits of a dead holder expire.
 */

import type { Algorithm, Share } from "../algorithm.ts";
import { permitDesk } from "../limiter/permit_desk.ts";
import { checkInteger, checkOptions, checkRange, rangeError } from "../options/checks.ts";
import { NAME, type OptionsData } from "../options/options_data.ts";
import { type Period, readPeriod } from "../options/period.ts";
import { type Accounting, buildAlgorithm } from "./build_algorithm.ts";
import {
  addPermit,
  dropPermit,
  extendPermit,
  findPermit,
  isNewer,
  NO_PERMITS,
  permitCodec,
  type PermitList,
  permitsHeld,
  setShare,
  shareAt,
  unitsHeld,
  waitForAll,
  waitForUnits,
} from "./permit_list.ts";

/** The options of `concurrency`. */
export interface ConcurrencyOptions {
  /**
   * Units that may be in use at once; an integer from 0 to 1,000,000. 0 refuses everything. Above
   * 1,000 the store must be wrapped in `lease` of `tidegate/stores`.
   */
  readonly limit: number;
  /**
   * How long a permit is held without being renewed. After that its holder counts as dead: whole
   * milliseconds of at least 10, or text such as `"30s"`. Limiters renew a permit every third of
   * that time.
   */
  readonly ttl: Period;
  /**
   * The longest time for which a permit is renewed, so that a permit which is never released ends
   * some day; at least `ttl`. Default `"1h"`, or `ttl` if that is longer.
   */
  readonly maxHold?: Period | undefined;
  /** The policy's name in headers; by default it is made of the limit: `"10-at-once"`. */
  readonly name?: string | undefined;
}

/** The largest limit. */
const MAX_LIMIT = 1_000_000;
/** The most permits that a key's state lists one by one: some 30 KB of text. */
const MOST_SINGLE = 1_000;
/** The most shares of a key whose limit is larger: as many as the shared store has room for. */
const MOST_SHARES = 341;
/** The shortest time to live: a timer runs for a third of it. */
const MIN_TTL = 10;

/** The options of `concurrency` as data. */
export const CONCURRENCY_OPTIONS: OptionsData<ConcurrencyOptions> = {
  limit: {
    kind: "integer",
    least: 0,
    most: MAX_LIMIT,
    about: "Units in use at once; 0 refuses everything.",
  },
  ttl: { kind: "period", about: "How long a permit is held without being renewed." },
  maxHold: {
    kind: "period",
    isOptional: true,
    about: "The longest time for which a permit is renewed: 1h, or ttl if that is longer.",
  },
  name: NAME,
};

/** The bytes of an array, without its numbers. */
const PERMITS_BYTES = 48;
const HOUR = 3_600_000;
const NO_SHARE: Share = { units: 0, number: 0 };
/** The id of a permit that nobody can release. A look asks whether this permit would be held. */
const NOBODY = 0;

/**
 * Concurrency: up to `limit` units in use at once. `hold` and `withPermit` take units of a limiter,
 * which come back when they are released, or `ttl` after they were last renewed.
 *
 * Units are permits with an identity. Releasing one twice, too late or after it was lost frees no
 * unit of another holder, and a permit that has expired is never revived. `consume`, `acquire`,
 * `charge` and `refund` throw a `TypeError`, because nobody could release the units that they take;
 * `peek` shows what is free.
 *
 * `retryAfter` is the earliest millisecond at which enough permits expire if nobody releases or
 * renews any, and `resetAfter` counts to the last expiry. A holder that goes on after its permit
 * has expired, or a clock that jumps ahead, breaks the limit, and nothing can prevent that: heed
 * the permit's `signal`.
 *
 * In `all` with other algorithms a refusal takes nothing from any of them, and a release gives back
 * only the permit. A changed limit takes over nothing (`replaces`): permits stay with the options
 * under which they were given, so for a while the old limit and the new limit both apply, each to
 * its own permits. The bare reducer's `step` takes a permit that nobody can release.
 *
 * Each call takes O(limit), and so does a state: 3 words and some 27 characters for each permit. In
 * the shared store the limit is at most 341. On a store that is wrapped in `lease`, a process has
 * one share of the units for all its permits, so calls and states take O(processes), and limits may
 * be as large as 1,000,000 for at most 341 processes.
 *
 * @param options `limit` in units, `ttl` and `maxHold` in milliseconds or as text.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { concurrency, hold, limiter } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const exports = limiter(concurrency({ limit: 2, ttl: "30s" }));
 * const first = hold(exports, "tenant:7");
 * const second = hold(exports, "tenant:7");
 * assert.equal(hold(exports, "tenant:7").decision.allowed, false);
 * first.permit?.release();
 * assert.equal(exports.peek("tenant:7", 0).remaining, 1);
 * second.permit?.release();
 * ```
 */
export function concurrency(options: ConcurrencyOptions): Algorithm<unknown, "permits"> {
  const { limit, ttl, maxHold, name = `${limit}-at-once` } = readOptions(options);
  const free = (state: PermitList, now: number) => limit - unitsHeld(state, now);
  const accounting: Accounting<PermitList> = {
    add: (state, now, units) => addPermit(state, now, NOBODY, now + ttl, units),
    giveBack: (state) => state,
    free,
    wait: (state, now, cost) => waitForUnits(state, now, limit - cost),
    reset: waitForAll,
  };
  const single = limit <= MOST_SINGLE;
  const most = single ? limit : MOST_SHARES;
  return buildAlgorithm<PermitList>({
    limit,
    period: Infinity,
    name,
    id: ["concurrency", limit, ttl],
    capacity: limit,
    initial: NO_PERMITS,
    accounting,
    codec: permitCodec(limit, most),
    bytes: (permits) => PERMITS_BYTES + 8 * permits.length,
    abilities: { permits: permitDesk },
    permits: {
      ttl,
      maxHold,
      hold(state, now, cost, id) {
        const place = findPermit(state, now, id);
        if (place >= 0) return extendPermit(state, now, place, now + ttl);
        return cost <= free(state, now) ? addPermit(state, now, id, now + ttl, cost) : state;
      },
      renew(state, now, id) {
        const place = findPermit(state, now, id);
        return place < 0 ? state : extendPermit(state, now, place, now + ttl);
      },
      release(state, now, id) {
        const place = findPermit(state, now, id);
        return place < 0 ? state : dropPermit(state, now, place);
      },
      holds: (state, now, id) => findPermit(state, now, id) >= 0,
      single,
      shares: {
        set(state, now, { id, number, units: wanted }) {
          const place = findPermit(state, now, id);
          const held = place < 0 ? NO_SHARE : shareAt(state, place);
          if (!isNewer(number, held) || place < 0 && number > 1) return state;
          const units = Math.min(wanted, free(state, now) + held.units);
          if (units === 0) return place < 0 ? state : dropPermit(state, now, place);
          if (place < 0 && permitsHeld(state, now) >= most) return state;
          return setShare(state, now, id, now + ttl, { units, number });
        },
        of(state, now, id) {
          const place = findPermit(state, now, id);
          return place < 0 ? undefined : shareAt(state, place);
        },
      },
      scale: (share) => concurrency({ ...options, limit: Math.floor(limit * share) }),
    },
  }) as Algorithm<unknown, "permits">;
}

function readOptions(options: ConcurrencyOptions) {
  const action = "create concurrency";
  checkOptions<ConcurrencyOptions>(action, options, {
    limit: true,
    ttl: true,
    maxHold: true,
    name: true,
  });
  checkInteger(action, "limit", options.limit, 0, MAX_LIMIT);
  const ttl = readPeriod(action, "ttl", options.ttl);
  if (ttl < MIN_TTL) {
    throw rangeError(action, `ttl must be at least ${MIN_TTL} milliseconds`, options.ttl);
  }
  checkRange(action, "2^42 + ttl", ttl);
  const maxHold = options.maxHold === undefined
    ? Math.max(HOUR, ttl)
    : readPeriod(action, "maxHold", options.maxHold);
  if (maxHold < ttl) {
    throw rangeError(action, `maxHold must be at least the ttl of ${ttl} ms`, options.maxHold);
  }
  return { limit: options.limit, ttl, maxHold, name: options.name };
}
