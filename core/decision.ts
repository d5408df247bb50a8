/**
 * The answer of a reducer: one flat object, always with the same fields in the same order, so that
 * every call site sees a single shape.
 *
 * All durations are whole milliseconds counted from the `now` of the call; none is an instant.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const [decision] = gcra({ limit: 2, period: "1s" }).step(0, 1_000, 1);
 * assert.equal(decision.allowed, true);
 * assert.equal(decision.remaining, 1);
 * assert.equal(decision.resetAfter, 500);
 * assert.equal(decision.debt, 0);
 * ```
 */
export interface Decision {
  /** The verdict. */
  readonly allowed: boolean;
  /** The policy's limit: units admitted per period in the long run. */
  readonly limit: number;
  /** Whole units that one call could still take now, after this one; at least 0. */
  readonly remaining: number;
  /**
   * Milliseconds until this same cost would be admitted if nothing else happens: 0 if allowed,
   * `Infinity` if never, because the cost is above the capacity. At that millisecond it is admitted,
   * one earlier it is not.
   */
  readonly retryAfter: number;
  /** Milliseconds until `remaining` next grows; 0 at capacity. */
  readonly nextAfter: number;
  /** Milliseconds until the key is fresh: also the time to live of its state. */
  readonly resetAfter: number;
  /** Milliseconds to wait before going ahead: 0 but for an admitted call of `leakyQueue`. */
  readonly delay: number;
  /**
   * Units beyond the capacity, 0 otherwise: what `charge` took of more than was there, and what a
   * clock that stepped back sees of use to come. Until it has drained nothing is admitted.
   */
  readonly debt: number;
  /** `undefined` when the limiter's own store answered; otherwise who did in its place. */
  readonly source: DecisionSource | undefined;
  /** From `all` and `consumeAll`: each one's decision, in order; otherwise `undefined`. */
  readonly parts: readonly Decision[] | undefined;
}

/**
 * The source, where it was not the limiter's own store: another store (`"fallback"`), or the failure
 * policy (`"policy"`), whose answers say nothing about the limit.
 */
export type DecisionSource = "fallback" | "policy";
