/*
 * The errors that limiters and stores throw, apart from errors of wrong arguments. Their class or
 * name tells callers whether anything was charged.
 */

import type { Decision } from "./decision.ts";

/**
 * `acquire` was refused: the cost can never be admitted, the wait would be too long, or too many
 * callers wait.
 *
 * @example
 * ```ts
 * import { acquire, gcra, limiter, RateLimitedError } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }));
 * api.consume("user:42");
 * await assert.rejects(
 *   acquire(api, "user:42", { maxWait: 1_000 }),
 *   (error) => error instanceof RateLimitedError && error.decision.retryAfter > 3_000_000,
 * );
 * ```
 */
export class RateLimitedError extends Error {
  /** The name of the class. */
  override readonly name = "RateLimitedError";
  /** The refusal; its `retryAfter` counts the calls that wait before this one. */
  readonly decision: Decision;

  /** Makes the error from a message that says what could not be done, and the refusal. */
  constructor(message: string, decision: Decision) {
    super(message);
    this.decision = decision;
  }
}

/** A store could not be reached, or not in time. */
export class StoreUnavailableError extends Error {
  /** The name of the class. */
  override readonly name = "StoreUnavailableError";
  /** Whether the call may have been charged: `"no"`, or `"unknown"` if it may have been. */
  readonly applied: "no" | "unknown";

  /**
   * Makes the error from a message that says what could not be done, and whether it may have been
   * done nevertheless.
   */
  constructor(message: string, applied: "no" | "unknown", options?: ErrorOptions) {
    super(message, options);
    this.applied = applied;
  }
}

/** A store lost the race for a key in every try that it has; nothing was charged. */
export class ContentionError extends Error {
  /** The name of the class. */
  override readonly name = "ContentionError";
}

/** A store holds as many keys in use as it can, and its policy is to throw; nothing was charged. */
export class StoreFullError extends Error {
  /** The name of the class. */
  override readonly name = "StoreFullError";
}

/** More calls wait for a store than may wait; nothing was charged. */
export class StoreOverloadedError extends Error {
  /** The name of the class. */
  override readonly name = "StoreOverloadedError";
}

/**
 * Whether an error says, by its name, that too many calls wait. No failure policy may admit such
 * calls.
 */
export function isOverload(error: unknown): boolean {
  return (error as Partial<Error> | null | undefined)?.name === "StoreOverloadedError";
}

const STORE_ERRORS: readonly unknown[] = [
  "StoreUnavailableError",
  "ContentionError",
  "StoreFullError",
  "StoreOverloadedError",
];

/**
 * Whether an error says that a store could not decide, which is not the caller's fault. It is
 * recognized by name, so that errors of another copy of this package count, and errors that crossed
 * to another thread.
 */
export function isStoreError(error: unknown): boolean {
  return STORE_ERRORS.includes((error as Partial<Error> | null | undefined)?.name);
}
