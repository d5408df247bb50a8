/**
 * The answer of a reducer: one flat object, always with the same fields in the same order, so that
 * every call site sees a single shape.
 *
 * All times are durations in whole milliseconds from the `now` of the call, never instants.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const [decision] = gcra({ limit: 2, period: "1s", burst: 2 }).step(0, 1_000, 1);
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
   * Milliseconds until the same cost would be admitted if nothing else happens: 0 if it is allowed,
   * `Infinity` if it can never be admitted because it is above the capacity. At that millisecond
   * the cost is admitted; one millisecond earlier it is not.
   */
  readonly retryAfter: number;
  /** Milliseconds until `remaining` next grows; 0 at capacity. */
  readonly nextAfter: number;
  /** Milliseconds until the key is fresh. This is also the time to live of its state. */
  readonly resetAfter: number;
  /** Milliseconds to wait before going ahead: 0 except for an admitted call of `leakyQueue`. */
  readonly delay: number;
  /**
   * Units in use beyond the capacity; 0 if there are none. They come from `charge`, or from use
   * that lies in the future because the clock stepped back. Nothing is admitted until the debt has
   * drained.
   */
  readonly debt: number;
  /**
   * `undefined` if the limiter's own store answered; otherwise the source that answered in its
   * place.
   */
  readonly source: DecisionSource | undefined;
  /**
   * For `all` and `consumeAll`: the decision of each part or entry, in order; otherwise
   * `undefined`.
   */
  readonly parts: readonly Decision[] | undefined;
}

/**
 * The source of a decision that did not come from the limiter's own store: another store
 * (`"fallback"`), or the failure policy (`"policy"`). Answers of the policy say nothing about the
 * limit.
 */
export type DecisionSource = "fallback" | "policy";
