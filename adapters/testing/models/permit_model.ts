/*
 * The model of `concurrency`: ids in a list, by definition. It shares no code with core's, so that an
 * error in one shows as a difference from the other.
 */

/** The verbs of a permit. */
export type PermitAct = "hold" | "renew" | "release";

/** The answer of the model. */
export interface PermitAnswer {
  /** Whether the permit is held now; of a release, whether it was. */
  readonly allowed: boolean;
  /** Units that are free after it. */
  readonly remaining: number;
  /** Milliseconds until enough permits expire; 0 if allowed, and to look. */
  readonly retryAfter: number;
  /** Milliseconds until the last one expires. */
  readonly resetAfter: number;
}

/** A key of the model, with its permits. */
export interface PermitModel {
  /** Does what is asked of a permit. */
  act(act: PermitAct, now: number, id: number, cost: number): PermitAnswer;
}

/** The options of the model. */
export interface PermitModelOptions {
  /** Units that may be held at once. */
  readonly limit: number;
  /** Milliseconds for which a permit is held. */
  readonly ttl: number;
}

/**
 * A key whose permits are ids in a list. Whatever changes the list drops those that have expired, so
 * that none comes back when a clock steps back.
 *
 * @param options The limit and the time to live.
 *
 * @example
 * ```ts
 * import { permitModel } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = permitModel({ limit: 2, ttl: 100 });
 * assert.equal(key.act("hold", 0, 1, 2).allowed, true);
 * assert.equal(key.act("hold", 40, 2, 1).retryAfter, 60);
 * assert.equal(key.act("release", 50, 1, 2).remaining, 2);
 * ```
 */
export function permitModel({ limit, ttl }: PermitModelOptions): PermitModel {
  let permits: { id: number; cost: number; end: number }[] = [];

  function answer(allowed: boolean, now: number, cost: number): PermitAnswer {
    const live = permits.filter(({ end }) => end > now);
    const used = live.reduce((sum, permit) => sum + permit.cost, 0);
    const ends = live.map(({ end }) => end).sort((one, other) => one - other);
    // The first instant at which those that are still there leave enough free.
    const first = ends.find((end) =>
      live.reduce((sum, permit) => permit.end > end ? sum + permit.cost : sum, 0) + cost <= limit
    );
    return {
      allowed,
      remaining: limit - used,
      retryAfter: allowed || cost === 0 ? 0 : cost > limit ? Infinity : (first ?? now) - now,
      resetAfter: (ends.at(-1) ?? now) - now,
    };
  }

  return {
    act(act, now, id, cost) {
      const live = permits.filter(({ end }) => end > now);
      const own = live.find((permit) => permit.id === id);
      if (act === "release") {
        if (own !== undefined) permits = live.filter((permit) => permit !== own);
        return answer(own !== undefined, now, 0);
      }
      if (own !== undefined) {
        if (own.end < now + ttl) {
          own.end = now + ttl;
          permits = live;
        }
        return answer(true, now, 0);
      }
      if (act === "renew") return answer(false, now, 0);
      const used = live.reduce((sum, permit) => sum + permit.cost, 0);
      if (used + cost > limit) return answer(false, now, cost);
      permits = [...live, { id, cost, end: now + ttl }];
      return answer(true, now, 0);
    },
  };
}
