/*
 * From accounting to reducers.
 *
 * Each algorithm accounts for units by five functions of a state: the state after more units, the
 * state after giving some back, how many are free, how long a cost waits, and when the state is
 * fresh (a sixth, the delay, belongs to `leakyQueue` alone). Both reducers and the decision follow
 * from these, once for all algorithms:
 *
 *   step         adds a cost that is free, and otherwise leaves the state as it is
 *   charge       adds a cost in any case, up to the most that a key may owe
 *
 *   allowed      the state changed, or the cost was 0 or less
 *   remaining    free(next), at least 0
 *   retryAfter   wait(state, cost) of a refused cost; never, above the capacity
 *   nextAfter    wait(next, remaining + 1): when one unit more would be admitted
 *   resetAfter   reset(next)
 *   debt         -free(next), at least 0
 *
 * So the laws between the fields hold by construction, and an algorithm's file holds nothing but
 * its arithmetic.
 */

import type {
  Algorithm,
  ArrivalRate,
  Formula,
  Permits,
  Policy,
  SplitReducer,
} from "../algorithm.ts";
import { checkCost, checkNow, checkText } from "../options/checks.ts";
import type { Rate } from "../options/rate_options.ts";
import type { Codec } from "../codec.ts";
import type { Returns } from "../arithmetic/returns.ts";
import { wholeArrivalTime } from "../arithmetic/whole_arrival_time.ts";
import type { Abilities } from "./can.ts";
import { fixDecisionShape, makeDecision } from "../make_decision.ts";

/**
 * How an algorithm accounts for units. All of it is pure; `now` is a whole number from 0 to 2^42,
 * and `cost` and `units` are whole numbers.
 */
export interface Accounting<State> {
  /** The state after adding `units`, 1 or more, whether they are free or not. */
  add(state: State, now: number, units: number): State;
  /** The state after giving back `units`, 1 or more, newest first; `initial` if no use is left. */
  giveBack(state: State, now: number, units: number): State;
  /**
   * Whole units that one call could take now; if negative, the units in use beyond the capacity.
   */
  free(state: State, now: number): number;
  /**
   * Milliseconds until `cost`, 1 to the capacity, is admitted; 0 if it is admitted now. Leave
   * `wait` out if all use ends at once: a cost that is not free then waits until the state is
   * fresh.
   */
  wait?(state: State, now: number, cost: number): number;
  /**
   * Milliseconds until the state is fresh, that is, behaves like `initial`; 0 if it is fresh now.
   */
  reset(state: State, now: number): number;
  /** Milliseconds that a call admitted in this state waits for its start; rounded up. */
  delay?(state: State, now: number): number;
  /** Makes room in a full state before a charge adds an entry. */
  compact?(state: State, now: number): State;
  /** How the units of one call are given back. */
  readonly returns?: Returns<State>;
}

/** The arithmetic of an algorithm, made from a few numbers. */
export interface Arithmetic<State> {
  readonly capacity: number;
  /** The most units that may be in use: a charge beyond it is cut. By default the capacity. */
  readonly mostUse?: number;
  readonly initial: State;
  readonly accounting: Accounting<State>;
  readonly codec: Codec<State>;
}

/** The parts of an algorithm. */
export interface Parts<State> extends Arithmetic<State>, Rate {
  /**
   * The factory's name and the options on which the meaning of a state depends. Algorithms with one
   * id read each other's states: `["gcra", 100, 60_000]`, whatever the burst.
   */
  readonly id: readonly [factory: string, ...options: readonly (number | string)[]];
  /** The numbers that define the arithmetic, if numbers alone define it. */
  readonly formula?: Formula;
  /** For windows that differ in length: the length of the window at an instant. */
  readonly periodAt?: (now: number) => number;
  /**
   * Units in use in the state that counts as the furthest one, if its distance depends on them; by
   * default the capacity. It must be the same for all algorithms with this id.
   */
  readonly mostAhead?: number;
  /** How many units may wait for their start after they were admitted. */
  readonly queue?: number;
  /** Whether the call that takes the last unit locks the key. */
  readonly locks?: boolean;
  /** For a window over a timeline: how many sub-buckets it covers. */
  readonly span?: number;
  /**
   * A copy of the state that does not depend on a store's memory; needed where stores may pass
   * views.
   */
  detach?(state: State): State;
  /**
   * Roughly how many bytes a state takes in the engine's memory, for states that differ in size.
   */
  bytes?(state: State): number;
  /**
   * How permits are held, for algorithms whose units are given back by the caller that took them.
   */
  readonly permits?: Permits<State>;
  /** Calls that it allows beside those of every algorithm. */
  readonly abilities?: Abilities;
  /** For an arrival time kept as one number: the units of that number. */
  readonly arrival?: ArrivalRate | undefined;
}

/** Builds an algorithm from its parts. */
export function buildAlgorithm<State>(parts: Parts<State>): Algorithm<State> {
  const { limit, period, periodAt, capacity, initial, codec, accounting, arrival } = parts;
  const action = `create ${parts.id[0]}`;
  if (parts.name !== undefined) checkText(action, "name", parts.name);
  const name = parts.name ?? nameOf(limit, period);
  const policy: Policy = Object.freeze({
    name,
    limit,
    period,
    burst: capacity,
    ...(periodAt && { periodAt }),
  });
  fixDecisionShape();
  const maxDebt = (parts.mostUse ?? capacity) - capacity;
  const ahead = parts.mostAhead ?? capacity;
  const { take, decide, charge } = arrival === undefined
    ? splitBy(limit, capacity, maxDebt, accounting)
    : wholeArrivalTime(arrival) as unknown as SplitReducer<State>;
  const halves: SplitReducer<State> = Object.freeze({
    take,
    decide,
    // Only for a cost above 0; units that are given back go through `take`.
    charge: (state: State, now: number, cost: number) =>
      cost > 0 ? charge(state, now, cost) : take(state, now, cost),
  });
  return Object.freeze({
    name,
    id: parts.id.join("/"),
    policies: Object.freeze([policy]),
    capacity,
    initial,
    ...reducersOf(halves),
    codec,
    internals: Object.freeze({
      halves,
      slots: parts.span,
      queue: parts.queue,
      locks: parts.locks,
      ...(parts.detach && { detach: parts.detach }),
      ...(parts.bytes && { bytes: parts.bytes }),
      // Locks, permits and calendar windows may last longer than taking all units leads to.
      ...((parts.formula ?? parts.span) !== undefined && periodAt === undefined && {
        full: (now: number) => accounting.add(initial, now, Math.min(capacity, ahead) || 1),
        furthest: (now: number) => accounting.add(initial, now, ahead || 1),
      }),
      ...(parts.permits && { permits: parts.permits }),
      ...(parts.abilities && { abilities: Object.freeze(parts.abilities) }),
      returns: accounting.returns,
      formula: parts.formula,
      arrival,
    }),
  });
}

/** The name of a policy without a given name: `100-in-60s`. */
function nameOf(limit: number, period: number): string {
  return `${limit}-in-${period % 1_000 === 0 ? `${period / 1_000}s` : `${period}ms`}`;
}

/** The reducers made of a split reducer, with their arguments checked. */
export function reducersOf<State>(
  split: SplitReducer<State>,
): Pick<Algorithm<State>, "step" | "charge"> {
  const { take, decide, charge } = split;
  return {
    step(state, now, cost) {
      const instant = checkNow(now);
      checkCost("step", cost);
      const next = take(state, instant, cost);
      return [decide(state, next, instant, cost), next];
    },
    charge(state, now, cost) {
      const instant = checkNow(now);
      checkCost("charge", cost);
      const next = charge(state, instant, cost);
      return [decide(next, next, instant, 0), next];
    },
  };
}

/** The half that takes: the whole cost if it is free, otherwise nothing. */
export function takeBy<State>(
  { add, giveBack, free }: Pick<Accounting<State>, "add" | "giveBack" | "free">,
): SplitReducer<State>["take"] {
  return function take(state, now, cost) {
    if (cost > 0) return cost <= free(state, now) ? add(state, now, cost) : state;
    return cost < 0 ? giveBack(state, now, -cost) : state;
  };
}

function splitBy<State>(
  limit: number,
  capacity: number,
  maxDebt: number,
  accounting: Accounting<State>,
): SplitReducer<State> {
  const { free, wait, reset, delay = none } = accounting;
  return {
    take: takeBy(accounting),
    charge: chargeBy(maxDebt, accounting),
    decide(state, next, now, cost) {
      const allowed = cost <= 0 || next !== state;
      const units = free(next, now);
      const left = units > 0 ? units : 0;
      const resetAfter = reset(next, now);
      return makeDecision(
        allowed,
        limit,
        left,
        allowed ? 0 : cost > capacity ? Infinity : wait?.(state, now, cost) ?? resetAfter,
        left >= capacity ? 0 : wait?.(next, now, left + 1) ?? resetAfter,
        resetAfter,
        allowed && cost > 0 ? delay(state, now) : 0,
        units < 0 ? Math.min(-units, maxDebt) : 0,
      );
    },
  };
}

/** Charges a cost above 0 in full, except that a key never owes more than the maximum debt. */
export function chargeBy<State>(
  maxDebt: number,
  { add, free, compact }: Accounting<State>,
): SplitReducer<State>["charge"] {
  return function charge(state, now, cost) {
    const units = Math.min(cost, maxDebt + free(state, now));
    if (units <= 0) return state;
    return add(compact === undefined ? state : compact(state, now), now, units);
  };
}

function none(): number {
  return 0;
}
