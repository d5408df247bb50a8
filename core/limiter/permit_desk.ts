import type { Decision } from "../decision.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { Period } from "../options/period.ts";
import type { Answered, StoreMode } from "../store.ts";
import type { PermitArgument, PermitVerb } from "../verbs/permit_steps.ts";
import type { QueueLimiter } from "./waiting_queue.ts";

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
 * The answer of `hold`. `using held = limiter.hold(key)` releases the permit, if there is one, at the end
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

/** The calls of a limiter on permits. */
export interface PermitLimiter<Mode extends StoreMode> {
  /**
   * Holds a permit of `concurrency`, which renews itself until it is released.
   *
   * With `maxWait` the call waits its turn, first come, first served for each key in the thread. A
   * release in the process wakes it; on the shared store, a release in any thread does. If the
   * store cannot tell of releases, the first caller tries again after 200 ms at the latest. The
   * call answers with a refusal when `maxWait` is over, or `maxWaiting` callers wait already.
   *
   * @param key The key whose units are held: a non-empty string.
   * @throws {TypeError} If the algorithm has no permits, or an argument is of the wrong type.
   * @throws {RangeError} If an argument is out of range.
   * @throws {StoreUnavailableError} If the store cannot decide. A permit that it has given
   * nevertheless expires.
   * @throws The reason with which the signal was aborted.
   */
  hold(key: string, options?: HoldOptions): Answered<Mode, Held<Mode>>;
  /** Waits for a permit, and holds it. */
  hold(key: string, options: WaitingHoldOptions): Promise<Held<Mode>>;
  /**
   * Holds a permit while `work` runs, and releases it when `work` has ended, with or without an
   * error.
   *
   * @param key The key whose units are held: a non-empty string.
   * @param work Its signal is aborted when the permit is lost, and when `options.signal` is.
   * @param options The options of `hold`: without `maxWait` the call does not wait.
   * @returns The answer of `work`.
   * @throws {RateLimitedError} If no permit is free in time.
   * @throws Any error of `hold` or of `work`.
   */
  withPermit<Value>(
    key: string,
    work: (signal: AbortSignal) => Value | PromiseLike<Value>,
    options?: WaitingHoldOptions,
  ): Promise<Value>;
}

/**
 * A permit that is requested without `hold`, for instance together with further limits: the verb's
 * argument, and the function that opens the permit if all limits admit.
 */
export interface AskedPermit {
  readonly argument: PermitArgument;
  /** Opens the permit that the store has given: from now on it is renewed. */
  open(decision: Decision): Permit;
}

/** The permits of a limiter whose store may answer at once or by promises. */
export interface PermitDesk {
  /**
   * Makes the request for a permit that the caller sends to the store; `undefined` if the algorithm
   * has no permits.
   */
  readonly ask?: ((key: string, cost: number) => AskedPermit) | undefined;
  /** The verb that holds a permit; `undefined` if the algorithm has no permits. */
  readonly verb?: PermitVerb | undefined;
  /** The limiter's `hold`. */
  hold(key: string, options?: WaitingHoldOptions): MaybePromise<Held>;
  /** The limiter's `withPermit`. */
  readonly withPermit: PermitLimiter<StoreMode>["withPermit"];
}

/** Opens the permits of a limiter. */
export type OpenPermits = (limiter: QueueLimiter) => PermitDesk;
