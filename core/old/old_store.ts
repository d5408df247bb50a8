/*
 * The contract that the shared store and the Redis store still implement, until each runs verbs
 * itself: operations that step a stored key by an algorithm.
 */

import type { Algorithm } from "../algorithm.ts";
import type { Decision } from "../decision.ts";
import type { ReplaceMode } from "../store.ts";

/** One thing to do to one stored key: step its state by an algorithm. */
export interface Operation<State = unknown> {
  /** The whole stored key: prefix, key and algorithm id together, as `storedKey` makes it. */
  readonly key: string;
  /** The reducer to step, and how its states are kept. */
  readonly algorithm: Algorithm<State>;
  /** Units to take, a whole number; 0 looks, below 0 gives back. */
  readonly cost: number;
  /** Whether only to answer: the state is not replaced. */
  readonly dry: boolean;
  /** What to read when the key holds nothing: the same key under older options. */
  readonly replaces?: Replaced | undefined;
}

/** The stored key that an operation's key takes over from, and how its use is carried over. */
export interface Replaced {
  /** The whole stored key under the old options. */
  readonly key: string;
  /** The algorithm with the old options. */
  readonly algorithm: Algorithm;
  /** How use is carried over: unit by unit, or as a share of the capacity. */
  readonly mode: ReplaceMode;
}

/**
 * A prepared call: what `run` does for a single operation, with the prefix and the algorithm bound
 * beforehand.
 *
 * @typeParam Answer `Decision`, or a promise of one.
 * @param key The limiter's key, not the stored one.
 * @param cost Units to take, checked by the limiter; 0 looks, below 0 gives back.
 * @param dry Whether only to answer.
 * @param now The instant, checked by the limiter; `undefined` for the store's own time.
 */
export type PreparedCall<Answer> = (
  key: string,
  cost: number,
  dry: boolean,
  now: number | undefined,
) => Answer;

/** What every store has, whether it answers at once or by promises. */
export interface StoreBase<Decisions, Answer, Done> {
  /**
   * Runs operations, all or nothing at one instant: when one of them is refused, none is charged,
   * and the decisions are those that `all` gives its parts.
   *
   * @param operations At least one; no key twice.
   * @param now The instant for all of them; without it the store's own time.
   */
  run(operations: readonly Operation[], now?: number): Decisions;
  /** Throws a `RangeError` if states of the algorithm cannot fit the store. */
  accepts(algorithm: Algorithm): void;
  /** Forgets a stored key. */
  delete(key: string): Done;
  /**
   * Forgets all keys of a prefix, whatever their algorithms: those whose stored keys begin with
   * `storedKey(prefix, ...)` up to the opening brace. Only a limiter's `resetAll` needs it.
   */
  deleteAll?(prefix: string): Done;
  /** Lets go of what the store holds. A closed store answers no more. */
  close(): Done;
  /** Closes the store, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /** What only limiters and stores made of stores read. */
  readonly internals?: StoreInternals<Answer> | undefined;
}

/** What a store may bring beyond its operations. A store without any of it works as well. */
export interface StoreInternals<Answer> {
  /** A faster way for single operations. */
  prepare?(prefix: string, algorithm: Algorithm): PreparedCall<Answer>;
  /** How the store names a key, where `storedKey` will not do. */
  keyOf?(prefix: string, id: string, key: string): string;
  /**
   * Begins to watch a stored key for units that are given back in another thread or process. What it
   * returns calls `wake`, once and not at once, if that has happened since then, or the store is
   * closed; it returns what cancels that.
   */
  watch?(stored: string): (wake: () => void) => () => void;
  /** The most operations of one `run`. */
  readonly mostOperations?: number | undefined;
}

/** A key that is watched: calls `wake` once units were given back; returns what cancels that. */
export type WatchedKey = ReturnType<NonNullable<StoreInternals<unknown>["watch"]>>;

/** A store that answers at once: memory, shared memory. */
export type SyncStore = StoreBase<readonly Decision[], Decision, void>;

/** A store of the old contract that answers by promises. */
export type AsyncStore = StoreBase<Promise<readonly Decision[]>, Promise<Decision>, Promise<void>>;
