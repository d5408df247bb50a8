/*
 * The contract of an algorithm: a pure reducer, and the functions that stores need to keep its
 * states. An algorithm makes every decision of this package.
 */

import type { Codec } from "./codec.ts";
import type { Decision } from "./decision.ts";
import type { Returns } from "./arithmetic/returns.ts";
import type { Receipts } from "./receipts/receipt.ts";

/**
 * The numbers of one limit, as headers and dashboards show them.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(gcra({ limit: 100, period: "1m", burst: 20 }).policies, [
 *   { name: "100-in-60s", limit: 100, period: 60_000, burst: 20 },
 * ]);
 * ```
 */
export interface Policy {
  /** The name given, or one made of the numbers: `"100-in-60s"`. */
  readonly name: string;
  /** Units admitted per period in the long run. */
  readonly limit: number;
  /** The period in whole milliseconds; by a calendar, its usual length. */
  readonly period: number;
  /** The largest cost that a fresh key admits at one instant: the algorithm's capacity. */
  readonly burst: number;
  /** For calendar windows, which differ in length: the length of the window at an instant. */
  readonly periodAt?: ((now: number) => number) | undefined;
}

/**
 * A rate limiting algorithm with its options filled in: a pure reducer, and the functions that
 * stores need to keep its states. The factories (`gcra`, `fixedWindow`, ...) return algorithms, and
 * anyone can write one.
 *
 * @typeParam State The memory of a key: a number where it fits, otherwise a small flat
 * object of numbers, or an immutable timeline.
 * @typeParam Can Calls that it allows beside those of every algorithm.
 *
 * @example A log replay is a fold
 * ```ts
 * import { slidingLog } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const algorithm = slidingLog({ limit: 2, period: "10s" });
 * let state = algorithm.initial;
 * const verdicts = [0, 3_000, 6_000, 10_000].map((now) => {
 *   const [decision, next] = algorithm.step(state, now, 1);
 *   state = next;
 *   return decision.allowed;
 * });
 * assert.deepEqual(verdicts, [true, true, false, true]);
 * ```
 */
export interface Algorithm<State = unknown, Can extends Ability = never> {
  /** The name given, or one made of the numbers. */
  readonly name: string;
  /**
   * The canonical text of the options on which the meaning of a state depends: part of every stored
   * key. Algorithms with one id read each other's states, whatever their limits.
   */
  readonly id: string;
  /** The numbers of each limit inside: one policy, or one for each part of `all`. */
  readonly policies: readonly Policy[];
  /** The largest cost that a fresh key admits. */
  readonly capacity: number;
  /** The fresh state: the state of a key that was never used. */
  readonly initial: State;
  /**
   * The reducer: from a state, an instant and a cost to a decision and the state after it.
   *
   * It is pure. It reads no clock and touches no store, and may be called again with the same
   * arguments after a lost race. For a refusal, and for a look (cost 0), it returns the same state
   * (`===`), so that no store writes anything. A negative cost gives units back, the newest first.
   * A step that leaves no use returns `initial`.
   *
   * @param state The key's state; `initial` for a key never seen.
   * @param now Milliseconds since the Unix epoch, 0 to 2^42; a fraction is floored.
   * @param cost Units to take, a safe integer; 0 looks, below 0 gives back.
   * @returns The decision, and the state to keep.
   * @throws {RangeError} If `now` or `cost` is out of range; the state is unchanged.
   */
  step(state: State, now: number, cost: number): readonly [decision: Decision, state: State];
  /**
   * The second reducer takes the units that were really used, even beyond the capacity. It is
   * always allowed, and its decision is a look (cost 0) at the state after it: `debt` says how many
   * units are owed, and `step` admits nothing until they have drained. One charge has the same
   * effect as several charges of the same sum.
   *
   * It is pure, like `step`. Debt is cut at a bound that the algorithm states; units beyond it are
   * lost. A cost of 0 looks, and a negative one gives units back, both as `step` does.
   *
   * @param state The key's state; `initial` for a key never seen.
   * @param now Milliseconds since the Unix epoch, 0 to 2^42; a fraction is floored.
   * @param cost Units to take, a safe integer.
   * @returns The decision, and the state to keep.
   * @throws {RangeError} If `now` or `cost` is out of range; the state is unchanged.
   */
  charge(state: State, now: number, cost: number): readonly [decision: Decision, state: State];
  /** Converts states to words and text, and back. */
  readonly codec: Codec<State>;
  /** Members that only the stores of this package read. An algorithm without them works as well. */
  readonly internals?: AlgorithmInternals<State, Can> | undefined;
}

/**
 * Calls that only some algorithms allow: `hold` needs `"permits"` (`concurrency`), `block` needs
 * `"blocks"` (`blockable`), and `reserve` needs `"receipts"` (`reservable`). Where units are permits,
 * `consume` is not possible.
 */
export type Ability = "permits" | "blocks" | "receipts";

/** The abilities that the type of an algorithm, or of one of several, is known to have. */
export type AbilityOf<Of extends Algorithm> = Of extends
  { readonly internals?: infer Internals extends { readonly abilities?: unknown } | undefined }
  ? keyof NonNullable<NonNullable<Internals>["abilities"]> & Ability
  : never;

/**
 * The arithmetic of an algorithm as data: the name of a function and the numbers that make it. The
 * formula of `all` contains the formulas of its parts. The formula of an algorithm whose step
 * always charges is `"charge"` and its own formula. A store that has the same function elsewhere,
 * as Redis does, can run the state transition there.
 */
export type Formula = readonly (string | number | Formula)[];

/** The units of arrival times whose instants are one number of whole ticks. */
export interface ArrivalRate {
  /** The policy's limit. */
  readonly limit: number;
  /** Ticks in a millisecond. */
  readonly perMillisecond: number;
  /** The emission interval in ticks. */
  readonly interval: number;
  /** Units that a fresh key admits at one instant. */
  readonly capacity: number;
  /** The most units that may be in use. */
  readonly mostUse: number;
  /** Units that may wait for their start after they were admitted; 0 if no unit waits. */
  readonly queue: number;
}

/**
 * The members that an algorithm may have beyond its reducer, for the stores and limiters of this
 * package.
 *
 * @typeParam State The memory of a key.
 * @typeParam Can The abilities of the algorithm, its parts included.
 */
export interface AlgorithmInternals<State = unknown, Can extends Ability = never> {
  /** The abilities of the algorithm, its parts included. */
  readonly abilities?: Readonly<Record<Can, unknown>> | undefined;
  /**
   * The reducers split in two, for stores that avoid building a pair for each call. Without it,
   * `step` and `charge` give the same results.
   */
  readonly halves?: SplitReducer<State> | undefined;
  /** The computation of `take`, if numbers can describe it. */
  readonly formula?: Formula | undefined;
  /** For an arrival time in one number of whole ticks: its units. */
  readonly arrival?: ArrivalRate | undefined;
  /** For `all`: its parts, whose states are the items of its state, in order. */
  readonly parts?: readonly Algorithm[] | undefined;
  /** For a combinator: the algorithms inside that are not combinators, in order. */
  readonly leaves?: readonly Algorithm[] | undefined;
  /**
   * For `slidingWindow` and `slidingLog`, whose states are timelines: how many sub-buckets the window
   * covers. A store may keep such a history in a form of its own.
   */
  readonly slots?: number | undefined;
  /** For `leakyQueue`: how many units, as it counts them, may wait for their start. */
  readonly queue?: number | undefined;
  /** For `lockout`: the call that takes the last unit locks the key. */
  readonly locks?: boolean | undefined;
  /** For `concurrency`: how permits are held, renewed and released. */
  readonly permits?: Permits<State> | undefined;
  /**
   * The same state as a value of its own, because a store may pass a view of memory that it reuses.
   */
  detach?(state: State): State;
  /**
   * Roughly how many bytes a state takes in the engine's memory. Without it, a store estimates the
   * size by having the codec write the state, which takes longer the more words there are.
   */
  bytes?(state: State): number;
  /** The state of a key that is used up at an instant, but no further ahead than `furthest`. */
  full?(now: number): State;
  /**
   * The state up to which no state at an instant counts as too far ahead; the same for all algorithms
   * with this id. Stores mark states beyond it that come of a large burst or a debt. Absent if states
   * are never too far ahead.
   */
  furthest?(now: number): State;
  /** How the units of one call are given back. */
  readonly returns?: Returns<State> | undefined;
  /** How calls are settled later, if the algorithm is `reservable`. */
  readonly receipts?: Receipts<State> | undefined;
  /** How states are blocked, if the algorithm is `blockable`. */
  readonly blocks?: Blocks<State> | undefined;
  /** For a combinator that adds something to the states of another algorithm: how it does. */
  readonly wraps?: Wraps<State> | undefined;
  /** Milliseconds for which a store must keep a state that is fresh in so many; default: so many. */
  keptFor?(state: State, now: number, resetAfter: number): number;
}

/**
 * A combinator that adds something to the states of another algorithm, such as a block. A state
 * without the addition is the other algorithm's own state.
 *
 * @typeParam State The memory of a key.
 */
export interface Wraps<State = unknown> {
  /** The algorithm inside. */
  readonly inner: Algorithm;
  /** The state without the addition. */
  innerOf(state: State): unknown;
  /** The same addition to another state of the algorithm inside. */
  withInner(state: State, inner: unknown): State;
  /** The same combinator around another algorithm. */
  around(inner: Algorithm): Algorithm;
  /** Its place among combinators: one with a larger number lies further out. */
  readonly layer: number;
  /**
   * For an addition that belongs to a call, and so around all parts of an `all` together: how long it
   * lasts, in milliseconds. The longest of several parts stands for all.
   */
  readonly lasts?: number;
  /**
   * A state of the algorithm inside, with the addition that an older state of the same combinator
   * has, around an algorithm with other options.
   */
  carry(inner: unknown, old: State, before: Wraps, now: number): State;
}

/**
 * How states are blocked by hand. All of it is pure.
 *
 * @typeParam State The memory of a key.
 */
export interface Blocks<State = unknown> {
  /** When the state's block ends; 0 if it has none. */
  until(state: State): number;
  /**
   * The state with a block until that instant. The same state if it already has a block that ends
   * no earlier.
   */
  block(state: State, until: number): State;
}

/**
 * The transitions of permits, in addition to an algorithm's reducer. Holders name permits by ids,
 * so that each permit can be renewed and released. All of it is pure; `now` is a whole number from
 * 0 to 2^42.
 *
 * @typeParam State The memory of a key.
 */
export interface Permits<State> {
  /** Milliseconds for which a permit is held unless it is renewed. */
  readonly ttl: number;
  /** Milliseconds for which the holder of a permit renews it at most. */
  readonly maxHold: number;
  /**
   * The state in which an id holds a permit; the same state if too few units are free. An id that
   * already holds a permit renews it.
   */
  hold(state: State, now: number, cost: number, id: number): State;
  /** The state in which an id's permit is renewed; the same state if the permit is gone. */
  renew(state: State, now: number, id: number): State;
  /** The state without an id's permit; the same state if the permit is gone. */
  release(state: State, now: number, id: number): State;
  /** Whether an id holds a permit. */
  holds(state: State, now: number, id: number): boolean;
  /** Whether a state may list each permit by itself; otherwise it lists only shares of holders. */
  readonly single: boolean;
  /** How processes hold shares of the units. */
  readonly shares?: Shares<State> | undefined;
  /** The same algorithm with a share of the limit, rounded down. */
  scale(share: number): Algorithm;
}

/**
 * The transitions of shares. A process gives out permits from its share by itself. All functions
 * are pure.
 *
 * @typeParam State The memory of a key.
 */
export interface Shares<State> {
  /**
   * The state in which a holder's share is as large as requested, or as large as the free units
   * allow. A request of 0 removes the share. The same state if the message is late, or renews a
   * share that is gone.
   */
  set(state: State, now: number, message: ShareMessage): State;
  /** The share of a holder, with the number of its last message; `undefined` if it has none. */
  of(state: State, now: number, id: number): Share | undefined;
}

/** A share of the units of `concurrency`, held by a process for all permits that it gives out. */
export interface Share {
  /** Its units. */
  readonly units: number;
  /** The number of the message that set it. */
  readonly number: number;
}

/** A request for a share: absolute and numbered, so that messages may be lost, late or doubled. */
export interface ShareMessage {
  /**
   * The holder's id: a whole number from 1 to 2^53 - 1 that no other holder has, such as 53 random
   * bits.
   */
  readonly id: number;
  /**
   * 1 for the first message, and one more for each further message. Only the first message begins a
   * share.
   */
  readonly number: number;
  /** The units that it wants to have. */
  readonly units: number;
}

/**
 * The reducers split into the state after a call and the decision about it. For every valid call,
 * with `next = take(state, now, cost)`, `step(state, now, cost)` is
 * `[decide(state, next, now, cost), next]`. With `next = charge(state, now, cost)`, `charge` is
 * `[decide(next, next, now, 0), next]`.
 *
 * They check nothing: `now` must be a whole number from 0 to 2^42 and `cost` a safe integer.
 *
 * @typeParam State The memory of a key.
 */
export interface SplitReducer<State> {
  /** The state after the call; the same state if the call is refused. */
  take(state: State, now: number, cost: number): State;
  /** The answer to the call, made from the states before and after it. */
  decide(state: State, next: State, now: number, cost: number): Decision;
  /** The state after taking `cost`, beyond the limit if need be. */
  charge(state: State, now: number, cost: number): State;
}
