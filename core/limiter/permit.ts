/*
 * The types of permits, and of the calls that hold them.
 */

import type { Decision } from "../decision.ts";
import type { Period } from "../options/period.ts";
import type { Answered, StoreMode } from "../store.ts";

/**
 * A permit that is held: renewed in the background until it is released, lost, or held for as long as
 * the algorithm's `maxHold`.
 *
 * @typeParam Mode Whether the store answers at once: then `release` does, too.
 */
export interface Permit<Mode extends StoreMode = StoreMode> {
  /** Its id, by which the store knows it. */
  readonly id: number;
  /**
   * Aborted when the permit is lost: it could not be renewed in time, or `maxHold` has passed. The
   * work must then stop, because others may hold the units. Its reason is an error that says why.
   */
  readonly signal: AbortSignal;
  /**
   * Gives the permit back. It never fails: if the store does not learn of the release, the permit
   * expires after `ttl`.
   *
   * @returns Whether it was held until now: `false` if it was lost or released before, or the store
   * could not be reached.
   */
  release(): Answered<Mode, boolean>;
  /** Releases the permit at the end of a block, for `using`. */
  [Symbol.dispose](): void;
  /** Releases the permit and waits for the store, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The answer of `hold`. `using held = hold(limiter, key)` releases the permit, if there is one, at the end
 * of the block.
 *
 * @typeParam Mode Whether the store answers at once.
 */
export interface Held<Mode extends StoreMode = StoreMode> {
  /** The verdict; with `all`, the verdict of all limits together. */
  readonly decision: Decision;
  /** The permit; `undefined` if the call was refused. */
  readonly permit: Permit<Mode> | undefined;
  /** Releases the permit, if there is one, at the end of a block. */
  [Symbol.dispose](): void;
  /** Releases the permit, if there is one, and waits for the store. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The options of a `hold` that does not wait. */
export interface HoldOptions {
  /** Units to hold, an integer of at least 1; default 1. */
  readonly cost?: number | undefined;
  /** Without it the call does not wait. */
  readonly maxWait?: undefined;
  /** Ends the call, which has then taken nothing. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of a `hold` that waits for a permit. */
export interface WaitingHoldOptions extends Omit<HoldOptions, "maxWait"> {
  /** The longest wait: milliseconds of at least 0, or text such as `"1s"`; may be `Infinity`. */
  readonly maxWait?: Period | undefined;
}
