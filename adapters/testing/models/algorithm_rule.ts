/*
 * The interface of a model. It is small enough to check by eye against a published definition,
 * because `judge` derives everything else.
 */

import type { Decision } from "../../../core/decision.ts";

/**
 * An algorithm stated in whole numbers of any size: when it admits, what it remembers, when it has
 * forgotten. An `AlgorithmRule` has no formula for `remaining`, `retryAfter`, `nextAfter`, `resetAfter` or
 * `debt`; `judge` finds them by asking `admits` and `fresh` again and again.
 *
 * `undefined` stands for a key that holds no use.
 *
 * @typeParam Use The memory of a used key.
 *
 * @example A rule of one's own: three strikes, and the key is out for good
 * ```ts
 * import { judge, type AlgorithmRule } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const threeStrikes: AlgorithmRule<bigint> = {
 *   capacity: 3n,
 *   limit: () => 3,
 *   admits: (use = 0n, _now, cost) => use + cost <= 3n,
 *   after: (use = 0n, _now, cost) => use + cost > 0n ? use + cost : undefined,
 *   fresh: () => false,
 * };
 * assert.equal(judge(threeStrikes, 2n, 0n, 1n).decision.allowed, true);
 * assert.equal(judge(threeStrikes, 3n, 0n, 1n).decision.allowed, false);
 * ```
 */
export interface AlgorithmRule<Use = unknown> {
  /** The largest cost that a fresh key admits. */
  readonly capacity: bigint;
  /** The most units beyond it that charges may bring a key to; no bound without it. */
  readonly maxDebt?: bigint | undefined;
  /** The `limit` field of a decision. */
  limit(use: Use | undefined, now: bigint): number;
  /**
   * Whether a cost is admitted. Once admitted, admitted at every later instant. A cost below 0 asks
   * whether the key would be within its capacity with that many units fewer.
   */
  admits(use: Use | undefined, now: bigint, cost: bigint): boolean;
  /** The use after taking a cost, admitted or not, or after giving back (a cost below 0). */
  after(use: Use | undefined, now: bigint, cost: bigint): Use | undefined;
  /** Whether the key behaves like one never used. Once it is, it stays so. */
  fresh(use: Use, now: bigint): boolean;
  /** Milliseconds that an admitted call waits; 0 without it. */
  delay?(use: Use | undefined, now: bigint): bigint;
  /** The use after a charge, for a rule made of rules: each is charged up to its own bound. */
  charge?(use: Use | undefined, now: bigint, cost: bigint): Use | undefined;
  /** The decisions of the parts, for a rule made of rules. */
  parts?(use: Use | undefined, now: bigint, cost: bigint): readonly Decision[];
}
