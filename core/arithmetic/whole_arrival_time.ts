import type { SplitReducer } from "../algorithm.ts";
import { makeDecision } from "../make_decision.ts";

/**
 * The reducer of `arrivalTime` once more, written out for the scale that nearly all policies have:
 * instants in one number of whole ticks.
 *
 * It is there for speed alone. A process that uses several algorithms calls the accounting of all
 * of them from the same places, and an engine that has seen several functions called from one place
 * inlines none: a decision by accounting then takes 2.0 to 2.2 times that of a GCRA written by hand
 * on mutable objects, and by these two functions 1.3 to 1.4 times. A test holds that both answer
 * the same.
 *
 * @param limit The policy's limit.
 * @param perMillisecond Ticks of a millisecond.
 * @param interval The emission interval in ticks.
 * @param burst Units that a fresh key admits at one instant.
 * @param mostUse The most units that may be in use.
 * @param queues Whether an admitted call waits for its start.
 */
export function wholeArrivalTime(
  limit: number,
  perMillisecond: number,
  interval: number,
  burst: number,
  mostUse: number,
  queues: boolean,
): Pick<SplitReducer<number>, "take" | "decide"> {
  const tolerance = burst * interval;
  const maxDebt = mostUse - burst;
  return {
    take(tat: number, now: number, cost: number): number {
      const tick = now * perMillisecond;
      if (cost > 0) {
        if (cost > burst) return tat;
        const next = (tat > tick ? tat : tick) + cost * interval;
        return next - tick <= tolerance ? next : tat;
      }
      if (cost === 0) return tat;
      const next = tat - (-cost < mostUse ? -cost : mostUse) * interval;
      return next > tick ? next : 0;
    },
    decide(tat: number, next: number, now: number, cost: number) {
      const allowed = cost <= 0 || next !== tat;
      const tick = now * perMillisecond;
      const ahead = next > tick ? next - tick : 0;
      const units = Math.floor((tolerance - ahead) / interval);
      const remaining = units > 0 ? units : 0;
      const room = tolerance - (remaining + 1) * interval;
      return makeDecision(
        allowed,
        limit,
        remaining,
        allowed
          ? 0
          : cost > burst
          ? Infinity
          : Math.ceil((ahead - (tolerance - cost * interval)) / perMillisecond),
        remaining >= burst ? 0 : Math.ceil((ahead - room) / perMillisecond),
        Math.ceil(ahead / perMillisecond),
        queues && cost > 0 && allowed && tat > tick ? Math.ceil((tat - tick) / perMillisecond) : 0,
        units >= 0 ? 0 : -units < maxDebt ? -units : maxDebt,
        undefined,
        undefined,
      );
    },
  };
}
