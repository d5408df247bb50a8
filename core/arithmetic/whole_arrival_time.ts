/*
 * The reducer of `arrivalTime` written out for instants in one number, for speed alone: nearly all
 * policies use it. The generic code's call sites see the functions of every algorithm, and engines
 * do not inline a call site that has seen several. A test checks that both answer alike.
 */

import type { ArrivalRate, SplitReducer } from "../algorithm.ts";
import type { Decision } from "../decision.ts";
import { withShareLeft } from "./fresh_instant.ts";
import { makeDecision } from "../make_decision.ts";

/** The split reducer, for instants in whole ticks; its `charge` is for costs above 0. */
export function wholeArrivalTime(rate: ArrivalRate): SplitReducer<number> {
  const { perMillisecond, interval, capacity, mostUse, queue } = rate;
  const tolerance = capacity * interval;
  const startsAtOnce = (capacity - queue - 1) * interval;
  return {
    take: wholeTake(perMillisecond, interval, capacity, mostUse),
    charge: (tat, now, cost) => charged(rate, tat, now, cost),
    decide(tat: number, next: number, now: number, cost: number) {
      const allowed = cost <= 0 || next !== tat;
      const tick = now * perMillisecond;
      const room = next > tick ? tolerance - (next - tick) : tolerance;
      const delay = queue > 0 && allowed && cost > 0 ? tat - tick - startsAtOnce : 0;
      return decisionOf(rate, allowed, room, cost, delay);
    },
  };
}

/** The half of the reducer that returns the state. */
export function wholeTake(
  perMillisecond: number,
  interval: number,
  capacity: number,
  mostUse: number,
): SplitReducer<number>["take"] {
  const tolerance = capacity * interval;

  // Refunds are rare, and kept out of `take` because engines inline only small functions.
  function giveBack(tat: number, tick: number, units: number): number {
    const earlier = tat - (units < mostUse ? units : mostUse) * interval;
    return earlier > tick ? earlier : 0;
  }

  return function take(tat: number, now: number, cost: number): number {
    const tick = now * perMillisecond;
    if (cost > capacity || cost === 0) return tat;
    if (cost < 0) return giveBack(tat, tick, -cost);
    const next = (tat > tick ? tat : tick) + cost * interval;
    return next - tick <= tolerance ? next : tat;
  };
}

/** The half that charges a cost above 0: all of it, up to the most that may be in use. */
function charged(rate: ArrivalRate, tat: number, now: number, cost: number): number {
  const { perMillisecond, interval, mostUse } = rate;
  const tick = now * perMillisecond;
  const from = tat > tick ? tat : tick;
  const room = mostUse - Math.ceil((from - tick) / interval);
  const units = cost < room ? cost : room;
  return units > 0 ? from + units * interval : tat;
}

/** Whether a cost above 0 is free: the verdict of `lookAt`, without its decision. */
export function freeIn(rate: ArrivalRate, tat: number, now: number, cost: number): boolean {
  const { perMillisecond, interval, capacity } = rate;
  const ahead = tat - now * perMillisecond;
  const tolerance = capacity * interval;
  return (ahead > 0 ? tolerance - ahead : tolerance) - cost * interval >= 0;
}

/** The decision about a cost of 0 or more at a state, without a new state. */
export function lookAt(rate: ArrivalRate, tat: number, now: number, cost: number): Decision {
  const { perMillisecond, interval, capacity, queue } = rate;
  const ahead = tat - now * perMillisecond;
  const tolerance = capacity * interval;
  const room = ahead > 0 ? tolerance - ahead : tolerance;
  const left = room - cost * interval;
  const allowed = left >= 0 || cost === 0;
  return decisionOf(
    rate,
    allowed,
    allowed ? left : room,
    cost,
    queue > 0 && allowed && cost > 0 ? ahead - (capacity - queue - 1) * interval : 0,
  );
}

/**
 * Both halves at once, for a cost above 0 and a state in an array. It writes the new state to the
 * state's cell. To the next cell it writes the instant at which the key is fresh, with the share of
 * the capacity that is left. A store calls this function directly, so engines can inline it
 * whatever other algorithms the process uses.
 */
export function takeInPlace(
  rate: ArrivalRate,
  cells: Float64Array,
  cell: number,
  now: number,
  cost: number,
): Decision {
  // This is `lookAt` written out, because a call of it would make a limiter's call too large for
  // engines to inline.
  const { perMillisecond, interval, capacity, queue } = rate;
  const tick = now * perMillisecond;
  const ahead = cells[cell]! - tick;
  const room = ahead > 0 ? capacity * interval - ahead : capacity * interval;
  const left = room - cost * interval;
  if (left < 0) return decisionOf(rate, false, room, cost, 0);
  const delay = queue > 0 ? ahead - (capacity - queue - 1) * interval : 0;
  const decision = decisionOf(rate, true, left, cost, delay);
  cells[cell] = tick + (ahead > 0 ? ahead : 0) + cost * interval;
  cells[cell + 1] = withShareLeft(now + decision.resetAfter, decision.remaining, capacity);
  return decision;
}

/** `takeInPlace` for a charge of a cost above 0. */
export function chargeInPlace(
  rate: ArrivalRate,
  cells: Float64Array,
  cell: number,
  now: number,
  cost: number,
): Decision {
  const next = charged(rate, cells[cell]!, now, cost);
  const decision = lookAt(rate, next, now, 0);
  cells[cell] = next;
  cells[cell + 1] = freshAfter(decision, now, rate.capacity);
  return decision;
}

/**
 * `takeInPlace` for 1 or more units that are given back. It returns `undefined` if no use is left:
 * the store then drops the key. If a key's use had ended by itself, its cells get the state of a
 * fresh key.
 */
export function giveBackInPlace(
  rate: ArrivalRate,
  cells: Float64Array,
  cell: number,
  now: number,
  units: number,
): Decision | undefined {
  const { perMillisecond, interval, mostUse, capacity } = rate;
  const tick = now * perMillisecond;
  const tat = cells[cell]!;
  if (tat <= tick) {
    cells[cell] = 0;
    return lookAt(rate, 0, now, 0);
  }
  const next = tat - (units < mostUse ? units : mostUse) * interval;
  if (next <= tick) return undefined;
  const decision = lookAt(rate, next, now, 0);
  cells[cell] = next;
  cells[cell + 1] = freshAfter(decision, now, capacity);
  return decision;
}

/** When a key is fresh after a decision that may or may not leave a debt. */
function freshAfter(
  { debt, resetAfter, remaining }: Decision,
  now: number,
  capacity: number,
): number {
  return debt > 0 ? now + resetAfter : withShareLeft(now + resetAfter, remaining, capacity);
}

/**
 * The decision about a call.
 *
 * @param room Ticks that are left of the tolerance after it.
 * @param delay Ticks until the call starts; below 0 if it could have started earlier.
 */
function decisionOf(
  rate: ArrivalRate,
  allowed: boolean,
  room: number,
  cost: number,
  delay: number,
): Decision {
  const { perMillisecond, interval, capacity } = rate;
  const units = Math.floor(room / interval);
  const remaining = units > 0 ? units : 0;
  return makeDecision(
    allowed,
    rate.limit,
    remaining,
    allowed ? 0 : cost > capacity ? Infinity : ceilDiv(cost * interval - room, perMillisecond),
    remaining >= capacity ? 0 : ceilDiv((remaining + 1) * interval - room, perMillisecond),
    ceilDiv(capacity * interval - room, perMillisecond),
    delay > 0 ? ceilDiv(delay, perMillisecond) : 0,
    units < 0 ? Math.min(-units, rate.mostUse - capacity) : 0,
  );
}

/** The quotient rounded up. */
function ceilDiv(dividend: number, divisor: number): number {
  return Math.ceil(dividend / divisor);
}
