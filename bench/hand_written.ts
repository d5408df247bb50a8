import type { Decision } from "../core/decision.ts";

/**
 * A limiter written by hand: GCRA in float milliseconds on mutable objects in a `Map`, with the
 * same decision. It is inexact, and forgets nothing: its figure includes the price of neither.
 */
export function handWrittenGcra(limit: number, period: number, burst: number) {
  const interval = period / limit;
  const tolerance = burst * interval;
  const cells = new Map<string, { tat: number }>();
  return {
    consume(key: string, cost = 1): Decision {
      const now = Date.now();
      let cell = cells.get(key);
      if (cell === undefined) {
        cell = { tat: 0 };
        cells.set(key, cell);
      }
      const base = cell.tat > now ? cell.tat : now;
      const next = base + cost * interval;
      const wait = next - tolerance - now;
      const allowed = wait <= 0;
      if (allowed) cell.tat = next;
      const tat = allowed ? next : base;
      const remaining = Math.max(0, Math.floor((tolerance - (tat - now)) / interval));
      return {
        allowed,
        limit,
        remaining,
        retryAfter: allowed ? 0 : Math.ceil(wait),
        nextAfter: remaining >= burst
          ? 0
          : Math.ceil(tat - (burst - remaining - 1) * interval - now),
        resetAfter: Math.ceil(tat - now),
        delay: 0,
        debt: 0,
        source: undefined,
        parts: undefined,
      };
    },
  };
}
