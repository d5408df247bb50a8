/*
 * The shares that a process holds, by key. Units that nobody needs are given back after a while, and the
 * oldest keys without held permits make room for others.
 */

import type { Decision } from "../../core/decision.ts";
import { newPermitId } from "../../core/limiter/permit_ids.ts";
import { agingTime } from "../aging_time.ts";
import { inBackground } from "../../core/in_background.ts";

/** The share of a key. */
export interface Pool {
  /** Whether its instants come from the process's time, and not from the caller's clock. */
  readonly ownTime: boolean;
  /** Its name in the store, and the number of its last message. */
  readonly holder: number;
  number: number;
  /** Units that may be held here, and units that are held. */
  units: number;
  used: number;
  /** Units of callers that wait for an answer. */
  wanted: number;
  /** The units of each permit. */
  readonly permits: Map<number, number>;
  /**
   * The instant at which the last answered message was sent: by the pool's clock, and by
   * the process's time. Then its answer.
   */
  renewedAt: number;
  renewedTime: number;
  answer: Decision | undefined;
  /** The message that is under way, and the look. */
  message: PromiseLike<Outcome> | undefined;
  look: PromiseLike<Outcome> | undefined;
  /** The instant at which a permit was last held or released. */
  touchedAt: number;
  /** Gives back units that nobody needs. If that fails, they expire. */
  giveBack(): void;
}

/** The outcome of a message. */
export type Outcome = { readonly decision: Decision } | { readonly error: unknown };

/** The shares of a process. */
export interface SharePools {
  /** The share of a key. It is new if the key has none, or one whose instants come from elsewhere. */
  poolOf(name: string, ownTime: boolean): Pool;
  /** The share of a key, if there is one. */
  get(name: string): Pool | undefined;
  /** Gives units back a while after they were last needed. */
  startTimer(): void;
  /** Forgets a key. */
  delete(name: string): void;
  /** Forgets all keys. */
  clear(): void;
}

/** The most keys to examine when one must be dropped. */
const MOST_LOOKS = 16;

/**
 * Makes the shares of a process.
 *
 * @param idleFor Milliseconds for which it keeps units that nobody needs.
 * @param maxKeys The most keys that are kept without permits.
 */
export function sharePools(idleFor: number, maxKeys: number): SharePools {
  const pools = new Map<string, Pool>();
  let timer: unknown;

  function poolOf(name: string, ownTime: boolean): Pool {
    const known = pools.get(name);
    if (known !== undefined && known.ownTime === ownTime) return known;
    makeRoom();
    const pool = newPool(ownTime);
    pools.set(name, pool);
    return pool;
  }

  /** Drops the oldest key without held permits. Its share expires in the store. */
  function makeRoom(): void {
    let looks = MOST_LOOKS;
    for (const [name, pool] of pools) {
      if (pools.size < maxKeys || looks-- === 0) return;
      pools.delete(name);
      if (pool.used + pool.wanted > 0) pools.set(name, pool);
    }
  }

  function startTimer(): void {
    timer ??= inBackground(idleFor, () => {
      timer = undefined;
      const at = agingTime();
      for (const [name, pool] of pools) {
        if (!pool.ownTime || pool.units === pool.used) continue;
        if (at - pool.touchedAt < idleFor || pool.message !== undefined) startTimer();
        else pool.giveBack();
        if (pool.units + pool.wanted === 0) pools.delete(name);
      }
    });
  }

  return {
    poolOf,
    get: (name) => pools.get(name),
    startTimer,
    delete: (name) => void pools.delete(name),
    clear: () => pools.clear(),
  };
}

function newPool(ownTime: boolean): Pool {
  return {
    ownTime,
    holder: newPermitId(),
    number: 0,
    units: 0,
    used: 0,
    wanted: 0,
    permits: new Map(),
    renewedAt: 0,
    renewedTime: 0,
    answer: undefined,
    message: undefined,
    look: undefined,
    touchedAt: -Infinity,
    giveBack: () => {},
  };
}

/** Loses all permits. The next message begins another share. */
export function loseShare(pool: Pool): void {
  const { ownTime, wanted } = pool;
  Object.assign(pool, newPool(ownTime), { wanted });
}
